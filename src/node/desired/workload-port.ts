import { type WorkloadControllers } from '#workloads';
import { type Workload } from '#kube/workloads/workload.js';
import { type DeliveryOptions, type PodSourcePort } from './pod-config.js';
import { isConfigObject } from './manifests/source-object.js';

/**
 * The entry of a source, with controllers in front of it: the pods of its workloads join its own.
 *
 * ConfigMaps and Secrets pass, and are there before the pods.
 */
export function workloadPort(
  source: string,
  port: PodSourcePort,
  controllers: Pick<WorkloadControllers, 'deliver'>,
): PodSourcePort {
  return {
    deliver: (pods, options: DeliveryOptions = {}) => {
      const { objects = [], isComplete = true } = options;
      const workloads = objects.filter((object): object is Workload => !isConfigObject(object));
      controllers.deliver(source, {
        ...{ pods, workloads, isComplete },
        hand: (all, isWhole) => port.deliver(all, { ...options, isComplete: isWhole }),
      });
    },
  };
}
