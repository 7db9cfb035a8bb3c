#!/bin/sh
# Removes what the service has left: empty directories. A podstep that was started by hand keeps its files. What was
# recorded stays until the package is purged.
set -e
case "$1" in
remove | purge | 0)
	if [ -d /run/systemd/system ]; then
		systemctl daemon-reload
	fi
	if [ -d /run/podstep ]; then
		find /run/podstep -depth -type d -empty -delete
	fi
	;;
esac
record=/var/lib/podstep/record
if [ "$1" = purge ] && [ -d "$record" ]; then
	find "$record" -maxdepth 1 -type f '(' -name '*Z.podstep' -o -name lock ')' -delete
	rmdir "$record" /var/lib/podstep 2>/dev/null || true
fi
