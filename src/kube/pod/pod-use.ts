/** What a running container uses now, in bytes and inodes; unknown values are absent. */
export interface ContainerUse {
  readonly name: string;
  /** Its working set: memory that the kernel cannot reclaim without harm. */
  readonly memoryBytes?: number | undefined;
  /** What it has written outside its volumes. */
  readonly writtenBytes?: number | undefined;
  readonly writtenInodes?: number | undefined;
  readonly logBytes?: number | undefined;
  readonly logInodes?: number | undefined;
  /** Other files of its own that it may write to, such as its termination messages. */
  readonly fileBytes?: number | undefined;
  readonly fileInodes?: number | undefined;
}

/** What a pod uses now; unknown values are absent. */
export interface PodUse {
  /** Working set of all its containers. */
  readonly memoryBytes?: number | undefined;
  readonly processes?: number | undefined;
  readonly containers: readonly ContainerUse[];
  /** Bytes in its emptyDirs on the disk; undefined until each of them has been counted. */
  readonly volumeBytes?: number | undefined;
  /** The same in files and folders. */
  readonly volumeInodes?: number | undefined;
  /** Bytes of files that its containers share and may write to, such as /etc/hosts. */
  readonly fileBytes?: number | undefined;
  readonly fileInodes?: number | undefined;
}

/** Which parts of {@link PodUse} have to be read from the disk, which takes time. */
export interface PodUseNeeds {
  readonly logs: boolean;
  /** Whether to scan every file of its volumes, for their size or for their number. */
  readonly volumes: false | 'bytes' | 'inodes';
}
