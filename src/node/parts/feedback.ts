import { Notifier, Question } from '#base/async/notifier.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ObjectChange } from '../desired/config-objects.js';
import { type ResizeObstacle } from '../pods/admission/admit-pod.js';

/**
 * What flows against the order of the parts of an agent: earlier ones report here what later ones act on.
 *
 * It is made before all of them, so that no part needs one that does not exist yet.
 */
export class Feedback {
  /** Pods by uid, of which something has changed that they refer to or show. */
  readonly syncSoon = new Notifier<readonly string[]>('pods to sync soon');
  /** Something can be cleaned up. */
  readonly housekeepSoon = new Notifier('housekeeping');
  /** ConfigMaps or Secrets of a source have changed. */
  readonly objectsChanged = new Notifier<ObjectChange>('changed objects');
  /** Which pods are stopped has changed: the wanted pods have to be computed again. */
  readonly stopsChanged = new Notifier('changed stops');
  /** A stopped pod may run again: nothing of its former life counts. */
  readonly podReleased = new Notifier<string>('released pods');
  /** What a pod waited for is available to its volumes. */
  readonly volumesReady = new Notifier<string>('ready volumes');
  /** Whether all of a pod has ended has changed. */
  readonly podEndChanged = new Notifier<string>('ends of pods');
  /** All work on a pod is done. */
  readonly podFinished = new Notifier<string>('finished pods');
  /** No other owner has a pod any more. */
  readonly podFree = new Notifier<NodePod>('free pods');
  /** Why a pod does not have the resources of its last edit; undefined when it has. */
  readonly resizeObstacle = new Question<string, ResizeObstacle | undefined>('pending resizes');
  /** Whether a pod may start again, after its former life. */
  readonly admitAnew = new Question<NodePod, boolean>('admission');
}
