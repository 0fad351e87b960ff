/** Selects a fact about the pod by its path: `metadata.name`, `metadata.labels['app']`. */
export interface ObjectFieldSelector {
  readonly apiVersion?: string;
  readonly fieldPath: string;
}

/** Selects a limit or request of a container, such as `limits.cpu`, in units of `divisor`. */
export interface ResourceFieldSelector {
  readonly containerName?: string;
  readonly resource: string;
  /** A quantity in canonical form. */
  readonly divisor?: string;
}

/** An entry of a ConfigMap or Secret. */
export interface KeySelector {
  readonly name: string;
  readonly key: string;
  readonly optional?: boolean;
}

/** A variable in a file of an emptyDir volume, in which each line is `NAME='value'`. */
export interface FileKeySelector {
  readonly volumeName: string;
  readonly path: string;
  readonly key: string;
  readonly optional?: boolean;
}

/** The source of an environment variable: exactly one of these. */
export interface EnvVarSource {
  readonly fieldRef?: ObjectFieldSelector;
  readonly resourceFieldRef?: ResourceFieldSelector;
  readonly configMapKeyRef?: KeySelector;
  readonly secretKeyRef?: KeySelector;
  readonly fileKeyRef?: FileKeySelector;
}

/** An environment variable. */
export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: EnvVarSource;
}

/** All entries of a ConfigMap or Secret as environment variables. */
export interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: { readonly name: string; readonly optional?: boolean };
  readonly secretRef?: { readonly name: string; readonly optional?: boolean };
}
