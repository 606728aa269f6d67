#!/bin/sh
# made-of.sh ROW [PROGRAM [BATCH]]: what one iteration of a row is made of, by Trio's counters; run it in Trio.
#
# The row runs three times, of which the first makes the second two alike, and the last has BATCH more iterations in each
# of its samples. What the last two differ by is those iterations' alone: set-up, clocks and this script are in both.
row=$1
program=${2:-probe}
batch=${3:-10}
samples=10

# iterations in a sample, file for the counters
counters_after() {
	"$program" --continue --by time --only time --clock cycles --runs 1 --seconds 1000 --samples "$samples" \
		--batch "$1" "$row" >/tmp/said
	if ! grep -q '"type":"run"' /tmp/said; then
		cat /tmp/said
		exit 1
	fi
	cat /proc/trio/counters >"$2"
}

counters_after "$batch" /tmp/first
counters_after "$batch" /tmp/second
counters_after $((2 * batch)) /tmp/third
# A handful of events of a few hundred iterations are not the row's own: ticks, pages for more samples.
awk -v iterations=$((samples * batch)) '
	FNR == 1 { file++ }
	{ value[file, $1] = $2; names[$1] }
	END {
		for (name in names) {
			each = (value[3, name] - 2 * value[2, name] + value[1, name]) / iterations
			if (each >= 0.2)
				printf "%-28s %9.2f\n", name, each
		}
	}' /tmp/first /tmp/second /tmp/third | sort
