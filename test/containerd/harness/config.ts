import { PAUSE_IMAGE } from './image.js';
import { type Release } from './installed.js';

/** The paths and names that one instance of containerd has for itself. */
export interface InstanceNames {
  /** Eight hexadecimal digits, in the names of everything that lies outside of the folder. */
  readonly id: string;
  /** Everything that can lie in a folder lies in this one. */
  readonly folder: string;
  readonly socket: string;
  /** containerd's state folder: bundles, network namespaces, mounts. */
  readonly state: string;
  readonly cniConfigFolder: string;
  readonly cniBinFolder: string;
  readonly bridge: string;
  readonly network: string;
  /** `10.x.y`: the first three bytes of the pods' /24. */
  readonly subnet: string;
  /** Parent of all cgroups of pods whose config names it. */
  readonly cgroupParent: string;
}

/** What a configuration may say beside its paths. */
export interface ContainerdSettings {
  /** A folder with a `hosts.toml` for each registry that another one stands in for. */
  readonly registryHosts?: string;
  /** Who makes the cgroups of containers (default: `cgroupfs`). */
  readonly cgroupDriver?: 'cgroupfs' | 'systemd';
  /** The program that makes containers (default: the `runc` in the PATH). */
  readonly ociRuntime?: string;
  /** Whether containers get no lower OOM score than containerd has, as a lower one takes a capability (default: true). */
  readonly restrictOomScores?: boolean;
}

/** The configuration file of a release: its own folders and sockets, nothing of the machine's. */
export function containerdConfig(
  release: Release,
  names: InstanceNames,
  { registryHosts, cgroupDriver = 'cgroupfs', ociRuntime, restrictOomScores = true }: ContainerdSettings = {},
): string {
  const options = [
    `Root = "${names.folder}/runc"`,
    `SystemdCgroup = ${cgroupDriver === 'systemd'}`,
    ...(ociRuntime === undefined ? [] : [`BinaryName = "${ociRuntime}"`]),
  ].join('\n        ');
  const [cri, images] =
    release === '2.1'
      ? [criVersion3(names, options, restrictOomScores), 'io.containerd.cri.v1.images']
      : [criVersion2(names, options, restrictOomScores), 'io.containerd.grpc.v1.cri'];
  const registry =
    registryHosts === undefined
      ? []
      : [`[plugins."${images}".registry]\n  config_path = "${registryHosts}"\n`];
  return [general(release, names), cri, ...registry].join('\n');
}

function general(release: Release, { folder, state, socket }: InstanceNames): string {
  // Snapshotters that probe the machine for devices cost start-up time and nothing uses them.
  const unused = ['aufs', 'btrfs', 'devmapper', 'zfs', 'blockfile', 'erofs'].map(
    (name) => `"io.containerd.snapshotter.v1.${name}"`,
  );
  return `
version = ${release === '2.1' ? 3 : 2}
root = "${folder}/root"
state = "${state}"
disabled_plugins = [${unused.join(', ')}]
[grpc]
  address = "${socket}"
[ttrpc]
  address = "${socket}.ttrpc"
[debug]
  address = "${folder}/debug.sock"
  level = "info"
[plugins."io.containerd.internal.v1.opt"]
  path = "${folder}/opt"
[plugins."io.containerd.nri.v1.nri"]
  disable = true
`;
}

// restrict_oom_score_adj: without CAP_SYS_RESOURCE nobody may lower a score, and runc would fail.
function criVersion2(
  { cniBinFolder, cniConfigFolder }: InstanceNames,
  options: string,
  restrict: boolean,
): string {
  return `
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  restrict_oom_score_adj = ${restrict}
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cniBinFolder}"
    conf_dir = "${cniConfigFolder}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        ${options}
`;
}

function criVersion3(
  { cniBinFolder, cniConfigFolder }: InstanceNames,
  options: string,
  restrict: boolean,
): string {
  return `
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "${PAUSE_IMAGE}"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = ${restrict}
  netns_mounts_under_state_dir = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["${cniBinFolder}"]
    conf_dir = "${cniConfigFolder}"
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "runc"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
        ${options}
[plugins.'io.containerd.grpc.v1.cri']
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
`;
}

/**
 * The network of pods that are not on the host's: a bridge and addresses of our own. The bridge gets its address
 * from the harness and not from the plugin (isGateway), which would switch on forwarding for the whole machine.
 */
export function cniConfig({ network, bridge, subnet, folder }: InstanceNames): string {
  return JSON.stringify(
    {
      cniVersion: '0.4.0',
      name: network,
      plugins: [
        {
          type: 'bridge',
          bridge,
          isGateway: false,
          ipMasq: false,
          ipam: {
            type: 'host-local',
            dataDir: `${folder}/ipam`,
            ranges: [[{ subnet: `${subnet}.0/24`, rangeStart: `${subnet}.2` }]],
          },
        },
      ],
    },
    null,
    2,
  );
}
