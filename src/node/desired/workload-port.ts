import { type WorkloadControllers } from '../workloads/index.js';
import { type Service, type Workload } from '#kube/workloads/workload.js';
import { type DeliveryOptions, type PodSourcePort } from './pod-config.js';
import { isConfigObject } from './manifests/source-object.js';

/** Who takes what is no pod and no ConfigMap or Secret. */
export interface WorkloadPorts {
  readonly workloads: Pick<WorkloadControllers, 'deliver'>;
  readonly services: {
    /** Takes the Services that a source wants now. */
    deliver(source: string, services: readonly Service[], isComplete: boolean): void;
  };
}

/**
 * The entry of a source, with controllers in front of it: the pods of its workloads join its own.
 *
 * ConfigMaps and Secrets pass, and are there before the pods.
 */
export function workloadPort(
  source: string,
  port: PodSourcePort,
  { workloads: controllers, services }: WorkloadPorts,
): PodSourcePort {
  return {
    deliver: (pods, options: DeliveryOptions = {}) => {
      const { objects = [], isComplete = true } = options;
      const workloads = objects.filter((object): object is Workload => !isConfigObject(object));
      const served = workloads.filter((each): each is Service => each.kind === 'Service');
      // Pods of the same delivery may have their addresses as variables.
      services.deliver(source, served, isComplete);
      controllers.deliver(source, {
        ...{ pods, workloads, isComplete },
        hand: (all, isWhole) => port.deliver(all, { ...options, isComplete: isWhole }),
      });
    },
  };
}
