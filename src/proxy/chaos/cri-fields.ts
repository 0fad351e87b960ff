/**
 * Numbers of the fields of CRI v1's messages (runtime/v1/api.proto) that are read here, by message.
 *
 * @module
 */

/** In every answer that is a list. */
export const LIST_FIELDS = { items: 1 } as const;

/** Of a request that is about one container or one sandbox. */
export const SUBJECT_REQUEST_FIELDS = { id: 1 } as const;

/** PodSandbox and PodSandboxStatus. */
export const SANDBOX_FIELDS = { id: 1, metadata: 2 } as const;
export const SANDBOX_METADATA_FIELDS = { name: 1, uid: 2, namespace: 3 } as const;
export const SANDBOX_CONFIG_FIELDS = { metadata: 1 } as const;

/** Where Container, ContainerStatus and ContainerConfig have what they share; 0 for what they do not have. */
export interface ContainerFields {
  readonly id: number;
  readonly sandboxId: number;
  readonly metadata: number;
  readonly labels: number;
}
export const CONTAINER_FIELDS: ContainerFields = { id: 1, sandboxId: 2, metadata: 3, labels: 8 };
export const CONTAINER_STATUS_FIELDS: ContainerFields = { id: 1, sandboxId: 0, metadata: 2, labels: 12 };
export const CONTAINER_CONFIG_FIELDS: ContainerFields = { id: 0, sandboxId: 0, metadata: 1, labels: 9 };
export const CONTAINER_METADATA_FIELDS = { name: 1 } as const;

export const SANDBOX_STATUS_ANSWER_FIELDS = { status: 1, containerStatuses: 3 } as const;
export const CONTAINER_STATUS_ANSWER_FIELDS = { status: 1 } as const;
export const RUN_SANDBOX_REQUEST_FIELDS = { config: 1 } as const;
export const RUN_SANDBOX_ANSWER_FIELDS = { sandboxId: 1 } as const;
export const CREATE_CONTAINER_REQUEST_FIELDS = { sandboxId: 1, config: 2, sandboxConfig: 3 } as const;
export const CREATE_CONTAINER_ANSWER_FIELDS = { containerId: 1 } as const;

/** ContainerEventResponse. */
export const EVENT_FIELDS = { containerId: 1, kind: 2, sandboxStatus: 4, containerStatuses: 5 } as const;

/** StatusResponse, RuntimeStatus and RuntimeCondition. */
export const STATUS_ANSWER_FIELDS = { status: 1 } as const;
export const RUNTIME_STATUS_FIELDS = { conditions: 1 } as const;
export const CONDITION_FIELDS = { type: 1, status: 2, reason: 3, message: 4 } as const;
