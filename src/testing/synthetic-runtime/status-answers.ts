import {
  ContainerStatusResponse,
  PodSandboxStatusResponse,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { type PodFacts, toContainerStatus, toSandboxStatus } from './synthetic-messages.js';
import { type SyntheticContainer } from './synthetic-control.js';

/**
 * Answers of ContainerStatus and PodSandboxStatus as bytes, made once for each state that a container or a pod is in:
 * when a whole node is asked about at once, what is measured is to be the client.
 */
export class StatusAnswers {
  readonly #containers = new WeakMap<SyntheticContainer, Buffer>();
  readonly #sandboxes = new WeakMap<PodFacts, Buffer>();

  container(pod: PodFacts, container: SyntheticContainer): Buffer {
    let bytes = this.#containers.get(container);
    if (bytes === undefined) {
      const status = toContainerStatus(pod, container);
      bytes = asBuffer(ContainerStatusResponse.encode({ status, info: {} }).finish());
      this.#containers.set(container, bytes);
    }
    return bytes;
  }

  sandbox(pod: PodFacts): Buffer {
    let bytes = this.#sandboxes.get(pod);
    if (bytes === undefined) {
      const answer = PodSandboxStatusResponse.fromPartial({ status: toSandboxStatus(pod) });
      bytes = asBuffer(PodSandboxStatusResponse.encode(answer).finish());
      this.#sandboxes.set(pod, bytes);
    }
    return bytes;
  }
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
