#!/bin/sh
# What a shell and its tools do on any Linux: run on Linux and on Trio, the outputs are to be equal. Nothing here
# depends on time, on process numbers or on what a kernel calls itself. same.txt is Linux's output.
# shellcheck disable=SC2126,SC2018,SC2019,SC2012,SC2086,SC2094,SC2003,SC2016,SC3045 # the tools are tried, in every form
say() { printf '== %s\n' "$*"; }
cd /tmp && mkdir -p work && cd work || exit 9

say pipes
seq 1 2000 | sort -rn | grep 7 | wc -l
printf 'b\na\nc\n' | sort | tr a-z A-Z | sed 's/$/!/'
yes | head -n 20000 | md5sum
echo '12 34 * 5 + p' | dc
echo "obase=16; 48879" | bc 2>/dev/null || awk 'BEGIN { printf "%X\n", 48879 }'
(echo one; echo two >&2; exit 4) 2>&1 | cat
false | true; echo "status $?"

say redirections
echo first >f; echo second >>f; cat <f; cat f f | wc -c
exec 5>g; echo five >&5; exec 5>&-; cat g
cat <<END
here $((6 * 7))
END
{ echo out; echo err >&2; } >both 2>&1; sort both
cat nothing 2>&1; echo "status $?"
: >f; wc -c f

say jobs
for i in 3 1 2; do (sleep 0.$i; echo "job $i") & done; wait; echo waited
sleep 100 & kill $!; wait $!; echo "killed $?"
sleep 100 & kill -9 $!; wait $! 2>/dev/null; echo "killed $?"

say signals
trap 'echo trapped' USR1; kill -USR1 $$; trap - USR1
sh -c 'trap "echo bye; exit 3" TERM; kill -TERM $$; sleep 1'; echo "status $?"
sh -c 'kill -SEGV $$'; echo "status $?"
yes | head -n 1; echo "status $?"

say files
mkdir -p d/e/f && touch d/e/f/g && ln -s g d/e/f/link && ln d/e/f/g d/h
readlink d/e/f/link; stat -c '%a %h %F' d/h d/e/f/link d
chmod 4751 d/h; ls -l d/h | cut -c 1-10; umask 027; touch masked; stat -c %a masked; umask 022
find d | sort; mv d/e d/i; ls -R d; rmdir d 2>&1; rm -r d; ls -a
dd if=/dev/zero of=big bs=4096 count=100 2>/dev/null; echo end | dd of=big bs=1 seek=200000 conv=notrunc 2>/dev/null
stat -c %s big; md5sum big; dd if=big bs=1 skip=200000 count=4 2>/dev/null
truncate -s 1M sparse; stat -c %s sparse; cp big copy && cmp big copy && echo same
mkfifo fifo; (echo through >fifo) & cat fifo; wait
touch -d '2001-02-03 04:05:06' dated; stat -c %Y dated

say tar
mkdir t; for i in $(seq 50); do echo "file $i" >t/$i; done
tar cf t.tar t; rm -r t; tar xf t.tar; cat t/* | md5sum; tar tf t.tar | wc -l
gzip <t.tar | gunzip | cmp - t.tar && echo unpacked

say programs
env -i A=b env; expr 17 % 5; test -x /bin/sh && echo executable
sh -c 'echo $#' a b c d; echo 'echo "script $1"' >s; sh s given; chmod +x s; ./s direct
printf '#!/bin/cat\nits own text\n' >c; chmod +x c; ./c
/nowhere 2>/dev/null; echo "status $?"; ./f 2>/dev/null; echo "status $?"
i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done; echo "$i processes"
fib() { [ "$1" -lt 2 ] && echo "$1" || echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); }; fib 9
ulimit -n; id -u; hostname >/dev/null && echo named; uname -m; cat /proc/self/comm
awk 'BEGIN { for (i = 0; i < 100000; i++) s += i * 0.5; printf "%.1f\n", s }'
xargs -n 3 <<END
a b c d e f g
END
