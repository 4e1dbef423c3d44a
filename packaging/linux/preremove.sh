#!/bin/sh
# Stops the services when the package is removed, and not when it is upgraded. dpkg passes
# "remove", and rpm the number of versions that stay.
set -e
case $1 in
remove | 0)
    if [ -d /run/systemd/system ]; then
        systemctl disable --now p20export-proxy.service p20export-serve.service p20export-prune.timer
    fi
    ;;
esac
