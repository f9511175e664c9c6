#!/bin/sh
# Hands a report that Postfix got to sealpost: `feedback-pipe.sh <envelope recipient>`, the report on standard input.
# Ends with 0 when the report is taken, or is about no mail of this service: a bounce of it would go to a stranger.
# Ends with 75 (EX_TEMPFAIL) in every other case, so that Postfix keeps the report and tries it again. It bounces on any other number.
: "${SEALPOST_URL:=https://mail.example.com}" "${SEALPOST_FEEDBACK_KEY:=/etc/sealpost/feedback.key}"
to=$(jq -rn --arg to "$1" '$to|@uri') || exit 75
key=$(cat "$SEALPOST_FEEDBACK_KEY") || exit 75
# Only the first 256 KiB are looked at. The rest is read and dropped.
answer=$({ head -c 262144; cat > /dev/null; } | curl -s --max-time 55 -w '\n%{http_code}' -X POST \
  -H "Authorization: Bearer $key" -H 'Content-Type: message/rfc822' --data-binary @- \
  "$SEALPOST_URL/api/v1/feedback?recipient=$to") || exit 75
case $answer in
  *'
2'[0-9][0-9]) exit 0 ;;
  *'"FEEDBACK_NOT_OURS"'* | *'"EMAIL_NOT_FOUND"'*) exit 0 ;;
  *) exit 75 ;;
esac
