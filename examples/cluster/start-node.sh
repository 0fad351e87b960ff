#!/bin/sh
# Runs one node of the cluster on one machine. Ctrl-C or SIGTERM ends its pods, too; kill -9 leaves them, as a crash does.
#
#   sh start-node.sh NAME PORT [OPTION...]      further options of `podloop run`, or a folder of static pods
#
# Several nodes on one machine need what no two may share: a root folder (with a runtime and its socket in it), a folder for
# logs, a name, and a port at which the API server finds it. The ports 10255 and up are left to an agent that is alone.
set -eu
lab=${LAB:-/opt/lab}
name=$1 port=$2
shift 2
exec podloop run \
  --kubeconfig "$lab/keys/$name.kubeconfig" --node-name "$name" \
  --runtime-endpoint embedded --root-dir "$lab/$name" --pod-logs-dir "$lab/$name/logs" \
  --port "$port" --client-ca-file "$lab/keys/ca.crt" --read-only-port 0 --stop-pods "$@"
