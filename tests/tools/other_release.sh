# shellcheck shell=bash
# Sourced: apt for another release of Debian, beside the machine's own, in a directory; nothing is installed, no root is needed.
#
# other_release DIRECTORY SUITE      lists what SUITE has; leaves $apt, which goes with the caller, and $APT_CONFIG for apt-get
#
# With a file $apt/status, that is what is taken for installed.
other_release() {
  apt=$1/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/sources" "$apt/debs"
  # The mirror that this machine has its own packages from.
  local mirror
  mirror=$(find /etc/apt -name '*.list' -o -name '*.sources' | sort | xargs cat |
    sed -nE 's!^(URIs:|deb( \[[^]]*\])?) +(https?://[^ ]*/debian)/?( .*)?$!\3!p' | sed 1q)
  [ -n "$mirror" ] || { echo "$0: no Debian mirror in /etc/apt" >&2; exit 1; }
  cat > "$apt/sources/other.sources" <<END
Types: deb
URIs: $mirror
Suites: $2
Components: main
Architectures: amd64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
  cat > "$apt/apt.conf" <<END
Dir::Etc::SourceList "/dev/null";
Dir::Etc::SourceParts "$apt/sources";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State::Lists "$apt/lists";
Dir::Cache "$apt/cache";
APT::Sandbox::User "";
END
  if [ -e "$apt/status" ]; then echo "Dir::State::status \"$apt/status\";" >> "$apt/apt.conf"; fi
  export APT_CONFIG=$apt/apt.conf
  apt-get update -qq
}
