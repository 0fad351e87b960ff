/**
 * Commands of kubectl, docker, podman, crictl and systemctl that podloop has under another name, or not at all: what to type.
 *
 * A word that is a command of podloop is not listed.
 */
const FOREIGN_WORDS: Readonly<Record<string, string>> = {
  'api-resources':
    'podloop explain lists the kinds that manifests may have; podloop get all shows what is there',
  'api-versions': 'podloop explain lists the kinds that manifests may have',
  auth: 'no command asks who may do what: at the socket of an agent its owner and root may do all; over the network "podloop run --authorization-mode" decides',
  autoscale: 'podloop scale deploy/NAME --replicas=N',
  build: 'another tool builds images; "podloop load" takes the archive that it writes',
  buildx: 'another tool builds images; "podloop load" takes the archive that it writes',
  cat: 'podloop get pod NAME -o yaml',
  certificate: 'a cluster signs certificates: "kubectl certificate"',
  checkpoint:
    'nothing here writes the memory of a process to disk; the agent’s HTTPS port answers POST /checkpoint, as a kubelet does, where the runtime can',
  'cluster-info': 'podloop ps, or podloop version',
  commit: 'another tool builds images; "podloop load" takes the archive that it writes',
  compose:
    'podloop up FOLDER, with manifests in place of the Compose file; podloop down FOLDER, podloop logs -f deploy/NAME',
  config: 'podloop get pods --socket PATH, as no kubeconfig is needed for the agent of this machine',
  container: 'podloop get pods, podloop exec, podloop logs',
  context: 'podloop get pods --socket PATH, or export PODLOOP_SOCKET=PATH; podloop ps lists the agents',
  cordon: 'a cluster schedules pods: "kubectl cordon"; without one, move manifests out of the folder',
  dashboard: 'podloop web',
  'daemon-reload': 'nothing: the agent reads changed manifests by itself',
  disable: 'podloop stop NAME: it stays stopped over restarts of the agent',
  docker: 'leave the word out, as in "podloop ps"',
  drain: 'podloop stop --all; for a node of a cluster "kubectl drain"',
  enable:
    'podloop start NAME: a pod runs again after each restart of the agent as long as its manifest is there',
  export: 'podloop cp POD:/ FOLDER',
  expose:
    'a Service in a manifest, with type: NodePort for clients outside; podloop explain service.spec; or podloop port-forward deploy/NAME PORT',
  generate: 'podloop get pod NAME -o yaml',
  healthcheck: 'podloop describe pod NAME shows what probes say',
  history: 'podloop events',
  import: 'podloop load',
  info: 'podloop doctor, or podloop version',
  inspect: 'podloop get pod NAME -o yaml, podloop describe pod NAME, or podloop image inspect IMAGE',
  inspecti: 'podloop image inspect IMAGE',
  inspectp: 'podloop get pod NAME -o yaml',
  journalctl: 'podloop logs NAME, or podloop events',
  join: 'podloop run --kubeconfig FILE makes this machine a node of a cluster',
  kill: 'podloop stop NAME -t 1, or podloop delete pod NAME --force',
  kube: 'podloop run FOLDER, or podloop apply -f FILE',
  kubectl: 'leave the word out, as in "podloop get pods"',
  kustomize:
    'podloop validate FOLDER; another program builds kustomizations, and podloop apply -f - takes what it prints',
  list: 'podloop get pods',
  login:
    'write the credentials where "docker login" writes them, into ~/.docker/config.json: the runtime in the box reads them at each pull',
  logout:
    'remove the registry from the config.json that "docker login" has written, which is read at each pull',
  ls: 'podloop get pods',
  metrics: 'podloop top pods, podloop stats; for Prometheus: curl 127.0.0.1:10255/metrics',
  mount: 'podloop cp POD:/ FOLDER',
  network: 'podloop get pods -o wide shows addresses, podloop get services those of Services',
  node: 'podloop get nodes, or podloop describe node NAME',
  nodes: 'podloop get nodes, or podloop top nodes',
  options: 'podloop COMMAND --help lists the flags of each command',
  pause: 'podloop stop NAME, and podloop start NAME',
  play: 'podloop run FOLDER, or podloop apply -f FILE',
  plugin:
    'nothing: there are no plugins; programs ask the socket of the agent, which answers as an API server does',
  pod: 'podloop get pods, podloop stop NAME, podloop delete pod NAME',
  podman: 'leave the word out, as in "podloop ps"',
  pods: 'podloop get pods -A',
  port: 'podloop get pod NAME -o yaml, or podloop port-forward NAME PORT',
  proxy:
    'the agent’s socket answers as an API server does: curl --unix-socket PATH http://x/api/v1/pods; over the network podloop run --port 10250 does so with TLS, for who has a token or a certificate',
  push: 'another tool pushes images; podloop save writes the archive for it',
  quadlet:
    'podloop up FOLDER; at each boot: podloop.service of the Debian package runs what is in /etc/podloop/manifests',
  reload: 'nothing: the agent reads changed manifests by itself',
  rename: 'change metadata.name in the manifest',
  replace: 'podloop apply -f FILE',
  rm: 'podloop delete pod NAME',
  rmp: 'podloop delete pod NAME',
  runp: 'podloop run FOLDER, or podloop apply -f FILE',
  search: 'another tool searches registries; a manifest names the image, and podloop pull IMAGE fetches it',
  secret:
    'podloop get secrets is not there, as values are never shown; write a manifest and podloop apply -f FILE',
  serve: 'podloop run FOLDER',
  service: 'podloop get services, podloop describe service NAME',
  services: 'podloop get services -A',
  show: 'podloop describe KIND/NAME, or podloop get KIND/NAME -o yaml',
  statsp: 'podloop stats',
  status: 'podloop get pods -A, or podloop doctor',
  stopp: 'podloop stop NAME',
  system: 'podloop doctor, podloop images, podloop prune',
  tag: 'another tool tags images; "podloop load" takes the archive that it writes',
  taint: 'a cluster schedules pods: "kubectl taint"',
  uncordon: 'a cluster schedules pods: "kubectl uncordon"',
  unpause: 'podloop start NAME',
  update: 'podloop edit KIND/NAME, or podloop apply -f FILE',
  volume: 'podloop volumes',
};

/** Flags that kubectl's, docker's and podman's command of that name has: what to type instead. */
const FOREIGN_FLAGS: readonly (readonly [command: RegExp, flag: RegExp, instead: string])[] = [
  [
    /^run$/,
    /^(?:-[itd]+|-[ep]|--(?:interactive|tty|stdin|detach|rm|name|image|env|publish|entrypoint|restart))$/,
    'podloop run FOLDER runs the pods of manifests, and no image by itself: write the image into a manifest; then podloop exec -it POD -- sh opens a shell',
  ],
  [
    /^create$/,
    /^--(?:image|from-(?:literal|file|env-file)|port|replicas|schedule|tcp|clusterip)$/,
    'podloop create -f FILE, with a manifest; podloop explain KIND shows what stands in one; kubectl create … --dry-run=client -o yaml writes one without a cluster',
  ],
  [
    /^(?:apply|create|delete|diff|get)$/,
    /^(?:-k|--kustomize)$/,
    'kubectl kustomize DIR | podloop apply -f -',
  ],
  [
    /^get$/,
    /^(?:-f|--filename)$/,
    'name the objects, as in podloop get deploy/web svc/web; podloop diff -f FILE compares them with a file',
  ],
  [
    /^down$/,
    /^(?:-v|--volumes)$/,
    'podloop volumes rm NAME, once no pod uses it and before the agent ends: the data of claims are only removed by name',
  ],
  [/^patch$/, /^(?:-f|--filename)$/, 'podloop patch KIND/NAME --patch-file FILE'],
  [
    /./,
    /^--root-dir$/,
    '--socket FOLDER/podloop.sock, which is in the root folder of each agent; or export PODLOOP_SOCKET, and podloop ps lists the sockets',
  ],
  [/^validate$/, /^(?:-f|--filename|-R|--recursive)$/, 'podloop validate FILE'],
  [
    /^(?:apply|create)$/,
    /^--validate$/,
    'nothing: what is wrong is refused; podloop validate FILE says so without an agent',
  ],
  [/^rollout$/, /^--to-revision$/, 'no versions are stored; put the earlier manifest back'],
];

/** What to type instead of a flag that a command does not have; undefined for one that nobody else has either. */
export function findInsteadOfFlag(command: string, flag: string): string | undefined {
  return FOREIGN_FLAGS.find(([name, pattern]) => name.test(command) && pattern.test(flag))?.[2];
}

/** What to type instead of a command that podloop does not have; undefined for a word that nobody else has either. */
export function findInstead(word: string): string | undefined {
  return Object.hasOwn(FOREIGN_WORDS, word) ? FOREIGN_WORDS[word] : undefined;
}

/** All of them. */
export function foreignWords(): readonly string[] {
  return Object.keys(FOREIGN_WORDS);
}
