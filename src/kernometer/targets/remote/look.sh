#!/bin/sh
# Prints system, boot, compiler, and the probe named $1. Then it waits for the end of its input, and so keeps the
# connection open that the other calls share, until the front end ends.
probe=${XDG_CACHE_HOME:-$HOME/.cache}/kernometer/remote/$(uname -nsm | tr -c A-Za-z0-9 -)$1
for cc in musl-gcc cc gcc clang tcc ""; do
	command -v "$cc" >/dev/null 2>&1 && break
done
case $cc in
"") version= ;;
tcc) version=$(tcc -v 2>&1 | head -n 1) ;;
*) version=$("$cc" --version 2>&1 | head -n 1) ;;
esac
how=
by=
[ -x "$probe" ] && read -r how by <"$probe.by"
[ "$by" = "$cc $version" ] || how=
[ -n "$how" ] && touch "$probe" "$probe.by"
echo "#kernometer look"
echo "system $(uname -s)"
echo "machine $(uname -m)"
echo "boot $(cat /proc/sys/kernel/random/boot_id 2>/dev/null || sysctl -n kern.boottime 2>/dev/null)"
echo "identity $(cat /etc/machine-id 2>/dev/null || cat /var/lib/dbus/machine-id 2>/dev/null)"
echo "compiler $cc"
echo "version $version"
echo "probe $how"
echo "#kernometer ready"
exec cat >/dev/null
