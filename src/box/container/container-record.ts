import { ContainerConfig, PodSandboxConfig } from '#watch/messages';
import { RecordFile } from '#base/fs/record-file.js';
import { type ContainerUser } from '../isolation/container-user.js';
import { type IsolationKind } from '../isolation/isolation-kind.js';

/** What a container is, fixed at its creation. {@link ContainerFiles} has what became of it. */
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
  /** How the image wanted to be run when the container was made. */
  readonly image: ImageDefaults;
  readonly user: ContainerUser;
  /** Mounts that are images: the mount's place in the configuration, and the image. */
  readonly imageVolumes: readonly { readonly at: number; readonly imageId: string }[];
}

/** Under which ids a container holds the files of images: its root first, then its volumes. */
export function rootIdsOf({
  id,
  imageVolumes,
}: Pick<ContainerRecord, 'id' | 'imageVolumes'>): readonly string[] {
  return [id, ...imageVolumes.map(({ at }) => volumeRootId(id, at))];
}

/** Under which id it holds the files of the image volume at a place of its configuration. */
export function volumeRootId(id: string, at: number): string {
  return `${id}-volume-${at}`;
}

/** What an image says for requests that do not. */
export interface ImageDefaults {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  /** Empty when it does not say. */
  readonly workingDir: string;
  /** A name or a number; empty when it does not say. */
  readonly stopSignal: string;
  readonly user: string;
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
  /** Whether it was ever made whole. One that was not is undone, and never shown. */
  readonly ready: boolean;
  readonly stopped: boolean;
  readonly isolation: IsolationKind;
  /** Whether it has a network of its own. */
  readonly ownNetwork: boolean;
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

/** The file of a container's record. */
export function containerRecordFile(path: string): RecordFile<ContainerRecord> {
  return new RecordFile({
    path,
    format: (record) => toStored(record, ContainerConfig.encode(record.config).finish()),
    parse: (content) => {
      const stored = content as unknown as Stored<ContainerRecord>;
      return { ...stored, ...fromStored(stored, (bytes) => ContainerConfig.decode(bytes)) };
    },
  });
}

/** The file of a sandbox's record. */
export function sandboxRecordFile(path: string): RecordFile<SandboxRecord> {
  return new RecordFile({
    path,
    format: (record) => toStored(record, PodSandboxConfig.encode(record.config).finish()),
    parse: (content) => {
      const stored = content as unknown as Stored<SandboxRecord>;
      return { ...stored, ...fromStored(stored, (bytes) => PodSandboxConfig.decode(bytes)) };
    },
  });
}

function toStored(record: { readonly createdAtNs: bigint }, configBytes: Uint8Array): object {
  const config = Buffer.from(configBytes).toString('base64');
  return { ...record, createdAtNs: String(record.createdAtNs), config };
}

function fromStored<C>(
  { createdAtNs, config }: { readonly createdAtNs: string; readonly config: string },
  decode: (bytes: Buffer) => C,
): { readonly createdAtNs: bigint; readonly config: C } {
  return { createdAtNs: BigInt(createdAtNs), config: decode(Buffer.from(config, 'base64')) };
}

/** As it stands in a file: the configuration as base64 of its wire form, so that no field of it can be forgotten. */
type Stored<R> = Omit<R, 'config' | 'createdAtNs'> & {
  readonly config: string;
  readonly createdAtNs: string;
};
