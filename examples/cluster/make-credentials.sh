#!/bin/sh
# Makes the certificates and kubeconfigs of the cluster on one machine that docs/guides/from-one-machine-to-a-cluster.md builds.
#
#   sh make-credentials.sh [FOLDER]      FOLDER is /opt/lab/keys unless told
#
# Needs OpenSSL 3 and kubectl. What is there already is made anew: the nodes of before are strangers then.
set -eu
umask 077
keys=${1:-/opt/lab/keys}
server=${LAB_SERVER:-https://127.0.0.1:6443}
mkdir -p "$keys"
cd "$keys"
key='-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes'

# Who vouches for everybody: whose certificate this key has signed is who he says he is.
openssl req -x509 $key -days 365 -subj /CN=lab -keyout ca.key -out ca.crt 2>/dev/null

# sign NAME SUBJECT EXTENSION: makes NAME.key and, signed by the authority, NAME.crt.
sign() {
  openssl req -new $key -subj "$2" -addext "$3" -keyout "$1.key" -out "$1.csr" 2>/dev/null
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -days 365 -copy_extensions copy -out "$1.crt" 2>/dev/null
  rm "$1.csr"
}

# The API server, by the names under which it is called.
sign apiserver /CN=kube-apiserver \
  subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc

# What service accounts' tokens are signed with.
openssl genrsa -out sa.key 2048 2>/dev/null

# client NAME SUBJECT: a certificate of somebody who asks the API server, and a kubeconfig with it.
# The subject's CN is the user, its O is his group: Kubernetes knows both from nowhere else.
client() {
  sign "$1" "$2" extendedKeyUsage=clientAuth
  for step in \
    "set-cluster lab --server=$server --certificate-authority=ca.crt --embed-certs" \
    "set-credentials $1 --client-certificate=$1.crt --client-key=$1.key --embed-certs" \
    "set-context lab --cluster=lab --user=$1" \
    "use-context lab"; do
    kubectl config --kubeconfig="$1.kubeconfig" $step >/dev/null
  done
}

client admin /O=system:masters/CN=admin
client controller-manager /CN=system:kube-controller-manager
client scheduler /CN=system:kube-scheduler
# A node may be nobody but itself: the API server's Node authorizer goes by this name and this group.
for node in node-1 node-2 node-3; do
  client "$node" "/O=system:nodes/CN=system:node:$node"
done
ls
