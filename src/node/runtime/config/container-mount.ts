/** A file or folder of the node, or the files of an image, that appear in a container. */
export interface ContainerMount {
  /** Absolute. */
  readonly containerPath: string;
  /** Absolute; the caller has checked what is there. Empty for an image. */
  readonly hostPath: string;
  /** Its files are mounted, or those below a path in it. */
  readonly image?: { readonly reference: string; readonly subPath: string };
  readonly readOnly: boolean;
  /** Whether what is mounted below it is read-only as well (default: false). */
  readonly recursiveReadOnly?: boolean;
  /** What happens to mounts made below it later (default: private). */
  readonly propagation?: 'private' | 'host-to-container' | 'bidirectional';
  /** Whether the runtime labels it for SELinux. */
  readonly selinuxRelabel?: boolean;
}
