import { ContainerConfig, PodSandboxConfig } from '../cri/generated/runtime/v1/cri.js';

/** What a container is, fixed at its creation. What became of it is told by {@link ContainerFiles}. */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  /** Unique among the containers of a runtime; see {@link containerName}. */
  readonly name: string;
  /** Nanoseconds since the epoch. */
  readonly createdAtNs: bigint;
  readonly imageId: string;
  /** Absolute; empty when nobody wants the output. */
  readonly logPath: string;
  readonly config: ContainerConfig;
}

/** What a sandbox is, and whether it was stopped. */
export interface SandboxRecord {
  readonly id: string;
  /** Unique among the sandboxes of a runtime; see {@link sandboxName}. */
  readonly name: string;
  /** Nanoseconds since the epoch. */
  readonly createdAtNs: bigint;
  /** The boot in which it was made: no sandbox outlives its boot. */
  readonly bootId: string;
  readonly stopped: boolean;
  readonly config: PodSandboxConfig;
}

/** The name that two sandboxes may not share at a time. */
export function sandboxName(config: PodSandboxConfig): string {
  const { name = '', namespace = '', uid = '', attempt = 0 } = config.metadata ?? {};
  return [name, namespace, uid, attempt].join('_');
}

/** The name that two containers may not share at a time. */
export function containerName(config: ContainerConfig, sandbox: PodSandboxConfig): string {
  const { name = '', attempt = 0 } = config.metadata ?? {};
  const pod = sandbox.metadata;
  return [name, pod?.name ?? '', pod?.namespace ?? '', pod?.uid ?? '', attempt].join('_');
}

export function encodeContainerRecord(record: ContainerRecord): string {
  const config = Buffer.from(ContainerConfig.encode(record.config).finish()).toString('base64');
  return JSON.stringify({ version: 1, ...record, createdAtNs: String(record.createdAtNs), config });
}

export function decodeContainerRecord(text: string): ContainerRecord {
  const stored = JSON.parse(text) as Stored<ContainerRecord>;
  const config = ContainerConfig.decode(Buffer.from(stored.config, 'base64'));
  return { ...stored, createdAtNs: BigInt(stored.createdAtNs), config };
}

export function encodeSandboxRecord(record: SandboxRecord): string {
  const config = Buffer.from(PodSandboxConfig.encode(record.config).finish()).toString('base64');
  return JSON.stringify({ version: 1, ...record, createdAtNs: String(record.createdAtNs), config });
}

export function decodeSandboxRecord(text: string): SandboxRecord {
  const stored = JSON.parse(text) as Stored<SandboxRecord>;
  const config = PodSandboxConfig.decode(Buffer.from(stored.config, 'base64'));
  return { ...stored, createdAtNs: BigInt(stored.createdAtNs), config };
}

/** As it stands in a file: the configuration as base64 of its wire form, so that no field of it can be forgotten. */
type Stored<R> = Omit<R, 'config' | 'createdAtNs'> & {
  readonly config: string;
  readonly createdAtNs: string;
};
