#!/bin/sh
# Builds every program that is here, each in its own directory, JOBS of them at a time: ./build.sh [JOBS]
#
# CC, CXX, AR, CFLAGS, CXXFLAGS and LDFLAGS are taken from the environment. layoutrand sets the compilers to its
# wrappers, which add the flags of a system behind these, so that those win. Nothing here depends on time or network;
# where a configure script would take longer than the compilation, what it would find out is written down instead.
# shellcheck disable=SC2046,SC2086  # flags and lists of files are meant to be split into words
set -eu
cd "$(dirname "$0")"
: "${CC:=gcc}" "${CXX:=g++}" "${AR:=gcc-ar}" "${CFLAGS:=-O2}" "${LDFLAGS:=}"
: "${CXXFLAGS:=$CFLAGS}"
export CC CXX AR CFLAGS CXXFLAGS LDFLAGS

# The longest first, so that the jobs end together.
ORDER="gnugo sqlite xslt x264 chess hmmer minisat tcc mawk lua libquantum bzip2"

# compile FLAGS SOURCE...: each into an object in the current directory.
compile() {
    flags=$1; shift
    for source; do
        case $source in
            *.c) $CC $CFLAGS $flags -c "$source" ;;
            *) $CXX $CXXFLAGS $flags -c "$source" ;;
        esac
    done
}

# each_name DIRECTORY NAME...: the C files of these names in the directory.
each_name() {
    directory=$1; shift
    for name; do echo "$directory/$name.c"; done
}

build_bzip2() {
    make bzip2 CC="$CC" AR="$AR" LDFLAGS="$LDFLAGS" CFLAGS="$CFLAGS -D_FILE_OFFSET_BITS=64"
}

build_chess() {  # the engine of GNU Chess, without its front end and the adapter between them
    printf '#define VERSION "6.2.7"\n' > src/config.h
    : > src/configmake.h
    compile "-Isrc -DPKGDATADIR=\"nowhere\"" src/engine/*.cpp driver.cpp
    $CXX $CXXFLAGS $LDFLAGS ./*.o -o chess
}

build_gnugo() {
    ./configure --without-curses --without-readline --disable-color CFLAGS="$CFLAGS -fcommon"
    for part in sgf utils engine patterns interface; do make -C "$part"; done
}

build_hmmer() {  # hmmsearch, with the library squid that Debian packages apart
    sed 's/@SQD_UINT16@/unsigned short/; s/@SQD_UINT32@/unsigned int/; s/@SQD_UINT64@/unsigned long/' \
        squid/squid.h.in > squid/squid.h
    cat > squid/squidconf.h <<'END'
#define SQUID_VERSION "1.9g"
#define SQUID_DATE "2005"
#define SQUID_COPYRIGHT ""
#define SQUID_LICENSE ""
#define HAVE_STRTOUL 1
#define HAVE_STRTOULL 1
END
    sed 's/#undef PACKAGE_VERSION/#define PACKAGE_VERSION "2.3.2"/; s/#undef PACKAGE_DATE/#define PACKAGE_DATE "Oct 2003"/
        s/#undef PACKAGE_COPYRIGHT/#define PACKAGE_COPYRIGHT ""/; s/#undef PACKAGE_LICENSE/#define PACKAGE_LICENSE ""/
        s/#undef PACKAGE_NAME/#define PACKAGE_NAME "HMMER"/' hmmer2/src/config.h.in > hmmer2/src/config.h
    renamed="-DSampleGamma=squid_SampleGamma -DSampleDirichlet=squid_SampleDirichlet"  # hmmsearch has its own
    compile "-fcommon -Isquid $renamed" $(each_name squid a2m aligneval alignio clustal cluster dayhoff dirichlet eps file \
        getopt gki hsregex iupac msa msf phylip revcomp rk selex seqencode shuffle sqerror sqio squidcore sre_ctype \
        sre_math sre_random sre_stack sre_string ssi stockholm stopwatch translate types vectorops weight wuss)
    compile "-fcommon -Isquid -Ihmmer2/src" $(each_name hmmer2/src alphabet core_algorithms debug display emit \
        emulation fast_algorithms histogram hmmio mathsupport masks misc modelmakers plan7 plan9 postprob prior pvm \
        threads tophits trace hmmsearch)
    $CC $CFLAGS $LDFLAGS ./*.o -lm -o hmmsearch
}

build_libquantum() {  # Shor's algorithm
    for file in types.h quantum.h; do
        sed 's/@CF_TYPE@/float _Complex/; s/@RF_TYPE@/float/; s/@MU_TYPE@/unsigned long long/; s/@I@/1.0iF/' \
            "$file.in" > "$file"
    done
    printf '#define PACKAGE_VERSION "1.1.1"\n#include <complex.h>\n#include "types.h"\n' > config.h
    compile "-idirafter ." $(each_name . complex measure matrix gates oaddn omuln expn qft classic qureg decoherence qec \
        version objcode density error qtime lapack energy shor)
    $CC $CFLAGS $LDFLAGS ./*.o -lm -o shor
}

build_lua() {
    make -C src lua CC="$CC" AR="$AR rcu" CFLAGS="$CFLAGS -DLUA_USE_LINUX -DLUA_COMPAT_5_3" MYLDFLAGS="$LDFLAGS" \
        MYLIBS="-Wl,-E -ldl"
}

build_mawk() {
    ./configure
    make mawk
}

build_minisat() {
    # clang takes "%"PRIi64 without a space for an error; gcc does not know the name of the warning, and does not mind
    compile "-I. -DNDEBUG -D__STDC_LIMIT_MACROS -D__STDC_FORMAT_MACROS -Wno-reserved-user-defined-literal" minisat/core/Solver.cc \
        minisat/simp/SimpSolver.cc minisat/simp/Main.cc minisat/utils/Options.cc minisat/utils/System.cc
    $CXX $CXXFLAGS $LDFLAGS ./*.o -lz -o minisat.exe
}

build_sqlite() {  # the amalgamation, which tclsh puts together
    ./configure --disable-tcl --disable-readline --disable-shared
    make sqlite3.c shell.c
    compile "-I. -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION" sqlite3.c shell.c
    $CC $CFLAGS $LDFLAGS sqlite3.o shell.o -lm -o sqlite3
}

build_tcc() {
    ./configure --cc="$CC" --extra-cflags="$CFLAGS"
    make tcc
}

build_x264() {  # without assembly, so that all of it is compiled; -ffast-math would make answers depend on the compiler
    ./configure --disable-asm --disable-thread --disable-opencl --disable-avs --disable-swscale --disable-lavf \
        --disable-ffms --disable-gpac --disable-lsmash --bit-depth=8 --chroma-format=420
    sed -i 's/ -ffast-math//; s/ -O3//' config.mak
    make x264
}

build_xslt() {  # xsltproc, with libxml2 and libxslt as archives
    (cd libxml2 && ./configure --disable-shared --with-minimum --with-tree --with-xpath --with-output --with-html \
        --with-sax1 --with-push --with-pattern --with-xptr --with-xinclude --with-c14n \
        && make libxml2.la)
    (cd libxslt && ./configure --disable-shared --without-python --without-crypto --without-plugins --without-debug \
        --without-debugger --without-profiler --with-libxml-src=../libxml2 \
        && make -C libxslt && make -C libexslt && make -C xsltproc xsltproc)
}

if [ "${1:-}" = --one ]; then
    set -x
    cd "$2"
    "build_$2"
    exit
fi

# one of several at the same time: what it says goes to a log, and the end of that is shown where it fails
if [ "${1:-}" = --logged ]; then
    if ! "$0" --one "$2" > "$2.log" 2>&1; then
        printf '%s: the build of %s failed; the end of its log:\n' "$0" "$2" >&2
        tail -n 30 "$2.log" >&2
        exit 255  # xargs starts no more
    fi
    echo "built $2"
    exit
fi

for program in $ORDER; do
    if [ -d "$program" ]; then echo "$program"; fi
done | xargs -P "${1:-1}" -n 1 ./build.sh --logged
