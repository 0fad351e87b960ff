import { type ProcessIdentity } from '../../process/child-identity.js';

/** What a port of a pod is reached by on the host. */
export interface HostPort {
  readonly protocol: 'tcp' | 'udp';
  /** The host's address to listen at; empty for all of them. */
  readonly hostIp: string;
  readonly hostPort: number;
  readonly containerPort: number;
}

/** How CNI plugins were called for a sandbox: they must be called in the same way to undo it. */
export interface CniAttachment {
  /** The network configuration list as it was then. */
  readonly list: CniNetworkList;
  readonly binDirs: string;
  readonly args: string;
  /** The values of capabilities by their names, for plugins that declare them. */
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** What the last plugin of the list answered to ADD; absent until it did. */
  readonly result?: CniResult;
}

/** A network configuration list of the CNI specification, as it stands in a .conflist file. */
export interface CniNetworkList {
  readonly cniVersion: string;
  readonly name: string;
  readonly disableCheck?: boolean;
  readonly plugins: readonly CniPlugin[];
}

/** One entry of a {@link CniNetworkList}: what is not named here is the plugin's own. */
export interface CniPlugin {
  readonly type: string;
  readonly capabilities?: Readonly<Record<string, boolean>>;
  readonly [key: string]: unknown;
}

/** The success result of an ADD, of versions 0.3.0 to 1.1.0 of the CNI specification. */
export interface CniResult {
  readonly cniVersion?: string;
  readonly ips?: readonly { readonly address: string }[];
  readonly [key: string]: unknown;
}

/**
 * All that is needed to undo what was made for one sandbox. It is written before anything is made, and deleted
 * after everything was undone: whatever it names may exist, nothing else does.
 */
export interface AttachmentRecord {
  readonly sandboxId: string;
  /** Nothing but what CNI plugins keep on the disk outlives a boot. */
  readonly bootId: string;
  /** The process whose network namespace the sandbox has. */
  readonly holder: ProcessIdentity;
  /** The sandbox's addresses, IPv4 first. Empty until CNI plugins have returned them. */
  readonly ips: readonly string[];
  readonly hostPorts: readonly HostPort[];
  /** Who serves the host ports: a process of ours, packet rules of ours, or a CNI plugin. */
  readonly portsBy: 'proxy' | 'rules' | 'plugin';
  /** Absent when it hangs on our own bridge. */
  readonly cni?: CniAttachment;
}

/** Reads what was written; throws when it cannot be one. */
export function parseAttachment(content: Readonly<Record<string, unknown>>): AttachmentRecord {
  const value = content as Partial<AttachmentRecord>;
  const { sandboxId, bootId, holder, ips, hostPorts } = value;
  const whole =
    typeof sandboxId === 'string' &&
    typeof bootId === 'string' &&
    typeof holder?.pid === 'number' &&
    Array.isArray(ips) &&
    Array.isArray(hostPorts);
  if (!whole) throw new Error('not the record of an attachment');
  return value as AttachmentRecord;
}
