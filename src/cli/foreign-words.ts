/**
 * Commands of kubectl, docker, podman, crictl and systemctl that podloop has under another name, or not at all: what to type.
 *
 * A word that is a command of podloop is not listed.
 */
const FOREIGN_WORDS: Readonly<Record<string, string>> = {
  annotate: 'change the annotations in the manifest; the running agent reads it',
  build: 'another tool builds images; "podloop load" takes the archive that it writes',
  config: 'podloop get pods --socket PATH, as no kubeconfig is needed for the agent of this machine',
  cordon: 'a cluster schedules pods: "kubectl cordon"; without one, move manifests out of the folder',
  drain: 'podloop stop --all; for a node of a cluster "kubectl drain"',
  expose: 'hostPort in the manifest, or podloop port-forward POD PORT',
  info: 'podloop doctor, or podloop version',
  inspect: 'podloop get pod NAME -o yaml, podloop describe pod NAME, or podloop image inspect IMAGE',
  inspecti: 'podloop image inspect IMAGE',
  kill: 'podloop stop NAME -t 1, or podloop delete pod NAME --force',
  kube: 'podloop run FOLDER, or podloop apply -f FILE',
  label: 'change the labels in the manifest; the running agent reads it',
  list: 'podloop get pods',
  ls: 'podloop get pods',
  patch: 'podloop apply -f FILE',
  play: 'podloop run FOLDER, or podloop apply -f FILE',
  pods: 'podloop get pods -A',
  reload: 'nothing: the agent reads changed manifests by itself',
  rm: 'podloop delete pod NAME',
  serve: 'podloop run FOLDER',
  status: 'podloop get pods -A, or podloop doctor',
  statsp: 'podloop stats',
};

/** What to type instead of a command that podloop does not have; undefined for a word that nobody else has either. */
export function findInstead(word: string): string | undefined {
  return Object.hasOwn(FOREIGN_WORDS, word) ? FOREIGN_WORDS[word] : undefined;
}

/** All of them. */
export function foreignWords(): readonly string[] {
  return Object.keys(FOREIGN_WORDS);
}
