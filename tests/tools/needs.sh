#!/bin/sh
# What README asks of a machine, tried in a moment: a C compiler that finds the C library, and a Python with venv.  Says
# nothing where all of it is there; else one line with what is missing, one with the command that mends it, and status 1.
#
# usage: needs.sh PYTHON        PYTHON is empty where none was found
set -u
LC_ALL=C
export LC_ALL

python=${1-}
wanted='' missing=''
want() {  # what is missing, and its packages on Debian and Ubuntu, Fedora, Arch and openSUSE
    missing="$missing${missing:+; }$1"
    case $manager in
        apt-get) wanted="$wanted $2" ;;
        dnf) wanted="$wanted $3" ;;
        pacman) wanted="$wanted $4" ;;
        zypper) wanted="$wanted $5" ;;
    esac
}

manager=''
for name in apt-get dnf pacman zypper; do
    if command -v "$name" > /dev/null; then manager=$name; break; fi
done
if ! command -v gcc > /dev/null; then
    want 'no gcc' 'gcc libc6-dev' 'gcc glibc-devel' gcc 'gcc glibc-devel'
else
    tried=$(mktemp -d) || exit 1
    # A header of the compiler's that needs one of the library's, and the start files.
    printf '#include <stdint.h>\n#include <stdio.h>\nint main(void) { return puts("") < 0; }\n' > "$tried/tried.c"
    if ! gcc -o "$tried/tried" "$tried/tried.c" > "$tried/said" 2>&1; then
        if grep -q -e 'stdint\.h' -e 'stdio\.h' -e 'crt1\.o' -e '-lc' -e 'libc-header-start\.h' "$tried/said"; then
            want 'gcc finds no C library (its headers and start files)' libc6-dev glibc-devel glibc glibc-devel
        else
            printf 'gcc cannot make a program of three lines: %s\n' "$(grep -m 1 -i error "$tried/said" || head -n 1 "$tried/said")" >&2
            rm -rf "$tried"
            exit 1
        fi
    fi
    rm -rf "$tried"
fi
if [ -z "$python" ]; then
    found=$(python3 -c 'import sys; print(sys.version.split()[0])' 2> /dev/null)
    if [ "$found" ] && python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2> /dev/null; then
        want "Python $found has no venv" python3-venv python3 python python3
    elif [ "$found" ]; then
        want "Python $found is too old: 3.11 is the first that serves" 'python3.11 python3.11-venv' python3.11 python python311
    else
        want 'no Python 3.11 or later' 'python3 python3-venv' python3 python python3
    fi
fi
[ "$missing" ] || exit 0
printf 'layoutrand needs more than this machine has: %s\n' "$missing" >&2
as_root=''
if [ "$(id -u 2> /dev/null)" != 0 ]; then as_root='sudo '; fi
case $manager in
    apt-get) printf '    %sapt-get install --yes%s\n' "$as_root" "$wanted" >&2 ;;
    dnf) printf '    %sdnf install --assumeyes%s\n' "$as_root" "$wanted" >&2 ;;
    pacman) printf '    %spacman -S --noconfirm%s\n' "$as_root" "$wanted" >&2 ;;
    zypper) printf '    %szypper install --no-confirm%s\n' "$as_root" "$wanted" >&2 ;;
    *) printf '    install what is named, then call make again\n' >&2 ;;
esac
exit 1
