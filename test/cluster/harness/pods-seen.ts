import { type Pod } from '../../../src/cluster/client/kube-objects.js';
import { type ControlPlane } from './control-plane.js';
import { untilAsync } from './until-async.js';

/** Pods of the namespace `default`. */
export const PODS = '/api/v1/namespaces/default/pods';

interface Event {
  readonly reason?: string;
  readonly message?: string;
  readonly involvedObject?: { readonly name?: string };
}

/** How the API server has the status of a pod. */
export async function statusOf(plane: ControlPlane, name: string): Promise<Pod['status']> {
  return (await plane.admin.request<Pod>({ method: 'GET', path: `${PODS}/${name}` })).status;
}

/** The status of a pod once it is in that phase. */
export async function untilPhase(
  plane: ControlPlane,
  name: string,
  phase: string,
): Promise<NonNullable<Pod['status']>> {
  return await untilAsync(`${name} to be ${phase}`, async () => {
    const status = await statusOf(plane, name);
    return status?.phase === phase && status;
  });
}

/** The message of an event of that reason about a pod or a node, once there is one. */
export async function untilEvent(plane: ControlPlane, name: string, reason: string): Promise<string> {
  return await untilAsync(`the event ${reason} of ${name}`, async () => {
    const { items } = await plane.admin.request<{ items: Event[] }>({
      method: 'GET',
      path: '/api/v1/events',
    });
    return items.find((each) => each.reason === reason && each.involvedObject?.name === name)?.message;
  });
}
