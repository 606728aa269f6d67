#!/bin/sh
# Makes one C file of the probe, for a system with nothing but a C compiler: cc -O2 -o probe probe.c
#
# usage: amalgamate.sh > probe.c      the file
#        amalgamate.sh --list         the sources in their order, a line each, relative to this directory
#        amalgamate.sh --digest       SHA-256 over the sources' names and texts in that order, 64 hex digits
#
# Each header is inserted where it is first included. There are no #line directives: a compiler's message names the line
# of the reader's file; a comment at each part names its source.
set -eu
LC_ALL=C
export LC_ALL
unset CDPATH
cd "$(dirname "$0")"

list() { # main.c last: a reader who starts at the end sees the whole
	for file in *.h *.c workloads/*.h workloads/*.c; do
		[ ! -f "$file" ] || [ "$file" = main.c ] || echo "$file"
	done
	[ ! -f main.c ] || echo main.c
}

sha256() {
	if command -v sha256sum >/dev/null; then
		sha256sum
	elif command -v shasum >/dev/null; then
		shasum -a 256
	elif command -v sha256 >/dev/null; then
		sha256 -q
	elif command -v openssl >/dev/null; then
		openssl dgst -sha256 -r
	else
		echo "amalgamate.sh: no program for SHA-256 here (sha256sum, shasum, sha256, openssl)" >&2
		return 1
	fi
}

digest() {
	sum=$(list | while read -r file; do
		echo "== $file"
		cat "$file"
	done | sha256)
	echo "${sum%% *}"
}

parts() {
	# shellcheck disable=SC2016 # the dollar signs are the patterns' ends
	list | grep '\.c$' | xargs awk '
		function fail(text) {
			print "amalgamate.sh: " text > "/dev/stderr"
			failed = 1
			exit 1
		}
		# `name` is relative to this directory; workloads include engine headers by their plain name.
		function put(name,    line, inner) {
			printf "\n/* ==== %s ==== */\n", name
			while ((got = (getline line < name)) > 0) {
				if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/) {
					print line
					continue
				}
				inner = line
				sub(/^[^"]*"/, "", inner)
				sub(/".*$/, "", inner)
				sub(/^\.\.\//, "", inner)
				if (!(inner in seen)) {
					seen[inner] = 1
					put(inner)
				}
			}
			if (got < 0)
				fail("cannot read " name)
			close(name)
		}
		BEGIN {
			for (i = 1; i < ARGC; i++)
				put(ARGV[i])
			exit failed
		}'
}

amalgam() {
	sum=$(digest)
	echo "/* The probe of Kernometer in one file: cc -O2 -o probe probe.c (make amalgam made it from probe/). */"
	echo "#ifndef KM_SOURCE_DIGEST"
	echo "#define KM_SOURCE_DIGEST \"$sum\""
	echo "#endif"
	parts
}

case ${1:-} in
--list) list ;;
--digest) digest ;;
'') amalgam ;;
*)
	echo "usage: amalgamate.sh [--list|--digest]" >&2
	exit 2
	;;
esac
