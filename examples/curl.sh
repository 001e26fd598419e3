#!/bin/sh
# Starts a command over HTTP, streams its output, and answers its question.
#
#   HAWSER_TOKEN=$(hawser token create --name curl) sh examples/curl.sh
set -eu
api="${HAWSER_URL:-http://127.0.0.1:7707}/v1/sessions"

call() {
	curl --silent --show-error --fail-with-body -H "Authorization: Bearer $HAWSER_TOKEN" "$@"
}

# The response is the session as JSON. With jq: id=$(… | jq -r .id)
id=$(call "$api" -H 'Content-Type: application/json' \
	-d '{"command":"echo What is your name?; read name; echo Hello $name","mode":"pipe"}' |
	sed 's/.*"id":"\([^"]*\)".*/\1/')

# Waits for output after byte 0, for 30 seconds at most.
call "$api/$id/output?since=0&wait=30000"

# The request body is the input.
call "$api/$id/input" -H 'Content-Type: application/octet-stream' --data-binary 'Ada
' > /dev/null

# Everything from byte 0 until the session has ended, as server-sent events: data is base64.
call --no-buffer "$api/$id/output?since=0" -H 'Accept: text/event-stream'
