/** What a container that runs uses now; what nobody knows is absent. Bytes and inodes. */
export interface ContainerUse {
  readonly name: string;
  /** Its working set: what the kernel cannot take back without harm. */
  readonly memoryBytes?: number | undefined;
  /** What it has written beside its volumes. */
  readonly writtenBytes?: number | undefined;
  readonly writtenInodes?: number | undefined;
  readonly logBytes?: number | undefined;
  readonly logInodes?: number | undefined;
  /** Other files of its own that it may write to, such as its termination messages. */
  readonly fileBytes?: number | undefined;
  readonly fileInodes?: number | undefined;
}

/** What a pod uses now; what nobody knows is absent. */
export interface PodUse {
  /** Working set of all its containers. */
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
  readonly containers: readonly ContainerUse[];
  /** Of its emptyDirs on the disk; undefined as long as one of them was never counted. */
  readonly volumeBytes?: number | undefined;
  /** The same in files and folders. */
  readonly volumeInodes?: number | undefined;
  /** Of files that its containers share and may write to, such as /etc/hosts. */
  readonly fileBytes?: number | undefined;
  readonly fileInodes?: number | undefined;
}

/** What of {@link PodUse} is to be looked at on the disk, where it takes its time. */
export interface PodUseNeeds {
  readonly logs: boolean;
  /** Looks at every file of them: either for what they take or for how many they are. */
  readonly volumes: false | 'bytes' | 'inodes';
}
