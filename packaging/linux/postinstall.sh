#!/bin/sh
# Creates the user of the services. None is enabled: their options have to be set first.
set -e
if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers p20export.conf
elif ! getent passwd p20export >/dev/null; then
    useradd --system --user-group --no-create-home --home-dir /var/lib/p20export --shell /usr/sbin/nologin p20export
fi
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload
fi
