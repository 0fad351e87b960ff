/** Programs whose unit has another name. */
const UNITS: Readonly<Record<string, string>> = {
  ...{ 'cri-dockerd': 'cri-docker', dockerd: 'docker' },
  ...{ 'k3s-server': 'k3s', kubelite: 'snap.microk8s.daemon-kubelite' },
};

/** The unit of systemd under which packages start a program, without `.service`. */
export function unitOf(command: string): string {
  return UNITS[command] ?? command;
}

/**
 * The unit of systemd that a process is in, by the path of its cgroup or the text of its cgroup file, without `.service`;
 * undefined where it is in none.
 */
export function findUnit(cgroup: string): string | undefined {
  return /\/([^/:\s]+)\.service(?=\/|$)/m.exec(cgroup)?.[1];
}

/** By the path of a runtime's socket: the units that may serve it, the usual one first, without `.service`. */
const UNITS_OF: readonly (readonly [socket: RegExp, units: readonly string[]])[] = [
  [/\/k3s\/containerd\/containerd\.sock$/, ['k3s', 'k3s-agent', 'rke2-server', 'rke2-agent']],
  [/\/k0s\/containerd\.sock$/, ['k0scontroller', 'k0sworker']],
  [/\/microk8s\/.*\/containerd\.sock$/, ['snap.microk8s.daemon-containerd']],
  [/\/containerd\.sock$/, ['containerd']],
  [/\/crio\.sock$/, ['crio']],
  [/\/cri-dockerd\.sock$/, ['cri-docker', 'docker']],
  [/\/cri\.sock$/, ['podloop-runtime']],
];

/** The units that may serve a runtime's socket, the usual one first, without `.service`; none for a socket that nobody knows. */
export function unitsOfRuntime(endpoint: string): readonly string[] {
  return UNITS_OF.find(([socket]) => socket.test(endpoint))?.[1] ?? [];
}
