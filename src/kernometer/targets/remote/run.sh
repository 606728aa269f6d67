#!/bin/sh
# Runs the probe named $1 with the other arguments, in a temporary directory. The end of standard input means that the
# caller has gone: the probe gets SIGTERM, and ends all that it started. It ignores SIGPIPE (as its runs do in any
# case): otherwise its next record to a broken connection would end it first.
probe=${XDG_CACHE_HOME:-$HOME/.cache}/kernometer/remote/$(uname -nsm | tr -c A-Za-z0-9 -)$1
shift
trap : HUP INT TERM
trap "" PIPE
work=$(mktemp -d "${TMPDIR:-/tmp}/kernometer-XXXXXX") || exit
exec 3<&0
TMPDIR=$work "$probe" "$@" </dev/null 3<&- &
run=$!
{
	trap - HUP INT TERM
	while read -r _; do :; done
	kill -TERM "$run"
	for _ in 1 2 3 4 5; do
		kill -0 "$run" && sleep 1
	done
	kill -KILL "$run"
} <&3 >/dev/null 2>&1 3<&- &
watch=$!
exec 3<&-
trap 'kill -TERM "$run"' HUP INT TERM
while wait "$run"; status=$?; [ $status -gt 128 ] && kill -0 "$run" 2>/dev/null; do :; done
kill "$watch" 2>/dev/null
rm -rf "$work"
exit $status
