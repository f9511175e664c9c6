#!/bin/sh
# Copies the log with its files, and the keys, of the running service into /var/backups/sealpost, and destroys copies whose time is over.
# Keys second: then every event in the copy of the log has its key in the copy of the keys.
set -eu
umask 077
cd /etc/sealpost
now=$(date -u +%Y-%m-%dT%H-%M-%SZ)
mkdir -p /var/backups/sealpost/log /var/backups/sealpost/keys
/opt/sealpost/current/bin/sealpost.js backup "/var/backups/sealpost/log/$now"
/opt/sealpost/current/bin/sealpost.js backup --keys "/var/backups/sealpost/keys/$now"
# A copy of the keys opens what was deleted since it was made: it goes after 7 days.
find /var/backups/sealpost/keys -mindepth 1 -maxdepth 1 -mtime +6 -exec rm -r {} +
find /var/backups/sealpost/log -mindepth 1 -maxdepth 1 -mtime +13 -exec rm -r {} +
