/** A file or folder of the node that appears in a container. */
export interface ContainerMount {
  /** Absolute. */
  readonly containerPath: string;
  /** Absolute; the caller has checked what is there. */
  readonly hostPath: string;
  readonly readOnly: boolean;
  /** Whether what is mounted below it is read-only as well (default: false). */
  readonly recursiveReadOnly?: boolean;
  /** What happens to mounts made below it later (default: private). */
  readonly propagation?: 'private' | 'host-to-container' | 'bidirectional';
  /** Whether the runtime labels it for SELinux. */
  readonly selinuxRelabel?: boolean;
}
