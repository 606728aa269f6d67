#!/bin/sh
# Makes the probe named $1 from $2 bytes of standard input. If $3 is "compiled" they are C for the compiler $4 of
# version $5; if it is "sent" they are the program. The stored kind is "compiled" for a static probe, which is tried on
# Linux, else "dynamic". Files that were not used for 90 days are removed.
folder=${XDG_CACHE_HOME:-$HOME/.cache}/kernometer/remote
probe=$folder/$(uname -nsm | tr -c A-Za-z0-9 -)$1
new=$folder/.new-$$-$1
how=$3
fail() {
	echo "#kernometer failed $1"
	exit 1
}
exec 2>&1
umask 077
mkdir -p "$new" || fail folder
trap "rm -rf \"\$new\"" EXIT
trap "exit 1" HUP INT TERM PIPE
cat >"$new/probe.c" || fail folder
[ "$(wc -c <"$new/probe.c")" -eq "$2" ] || fail transfer
if [ "$3" = sent ]; then
	mv "$new/probe.c" "$new/probe"
	chmod 700 "$new/probe"
else
	musl=$("/lib/ld-musl-$(uname -m).so.1" 2>&1 | while read -r word version; do
		[ "$word" = Version ] && echo "$version"
	done)
	headers=
	[ "$4" = musl-gcc ] && headers="-idirafter /usr/include -idirafter /usr/include/$(uname -m)-linux-gnu"
	# POSIX message queues have a library of their own
	queues=
	case $(uname -s) in FreeBSD | NetBSD) queues=-lrt ;; esac
	make() {
		# shellcheck disable=SC2086 # more than one word
		set -- "$@" $headers
		# shellcheck disable=SC2086 # one, or none
		TMPDIR=$new "$@" "-DKM_FLAGS=\"$*\"" ${musl:+"-DKM_LIBC=\"musl $musl\""} -o "$new/probe" "$new/probe.c" -lpthread $queues
	}
	how=dynamic
	if [ "$(uname -s)" = Linux ] && make "$4" -O2 -static && "$new/probe" --list; then
		how=compiled
	fi >/dev/null 2>&1
	[ $how = compiled ] || make "$4" -O2 || fail compile
fi
"$new/probe" --list >/dev/null || fail start
echo "$how $4 $5" >"$new/by" || fail folder
mv "$new/by" "$probe.by" || fail folder
mv "$new/probe" "$probe" || fail folder
find "$folder"/.new-* "$folder"/* -prune -mtime +90 -exec rm -rf {} + 2>/dev/null
echo "#kernometer installed $how"
