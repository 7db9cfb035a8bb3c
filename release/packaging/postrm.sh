#!/bin/sh
# Removes what the service has left: empty directories. A podstep that was started by hand keeps its files.
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
