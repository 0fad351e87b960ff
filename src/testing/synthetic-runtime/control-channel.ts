import { type SyntheticControl } from './synthetic-control.js';

/** The names of the control's methods, as they go over the channel. */
export type ControlMethod = keyof SyntheticControl;

/** From the test to the runtime's process. */
export interface ControlRequest {
  readonly id: number;
  readonly method: ControlMethod;
  readonly args: readonly unknown[];
}

/** From the runtime's process to the test: first `ready` or `failed`, then one answer for each request. */
export type ControlMessage =
  | { readonly kind: 'ready'; readonly endpoint: string }
  | { readonly kind: 'failed'; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly kind: 'refused'; readonly id: number; readonly message: string };

/** A control that passes every call on to `call`. */
export function createRemoteControl(
  call: (method: ControlMethod, args: readonly unknown[]) => Promise<unknown>,
): SyntheticControl {
  const remote = <Method extends ControlMethod>(method: Method): SyntheticControl[Method] =>
    // The other side runs the method of that name, so what comes back has its type.
    (async (...args: unknown[]) => call(method, args)) as SyntheticControl[Method];
  return {
    pods: remote('pods'),
    addPods: remote('addPods'),
    kill: remote('kill'),
    start: remote('start'),
    restart: remote('restart'),
    remove: remote('remove'),
    stopPods: remote('stopPods'),
    removePods: remote('removePods'),
    setFaults: remote('setFaults'),
    emitEvent: remote('emitEvent'),
    breakEventStreams: remote('breakEventStreams'),
    counters: remote('counters'),
  };
}

/** Runs what a request asks for and makes the answer. Never rejects. */
export async function answerControlRequest(
  control: SyntheticControl,
  { id, method, args }: ControlRequest,
): Promise<ControlMessage> {
  try {
    const methods = control as unknown as Record<
      ControlMethod,
      (...args: readonly unknown[]) => Promise<unknown>
    >;
    return { kind: 'answer', id, result: await methods[method](...args) };
  } catch (error) {
    return { kind: 'refused', id, message: String(error) };
  }
}
