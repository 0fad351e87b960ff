import { type EventObject, type KubeObject } from '#kube/columns/kube-object.js';
import { type EndpointsObject, listEndpoints, type ServiceObject } from '#kube/columns/service-columns.js';
import { formatPodSelector } from '#kube/workloads/pod-selector.js';
import { describeEvents } from '../../shared/describe/describe-events.js';
import { cell, type TabWriter } from '../../shared/describe/tab-writer.js';

/** What {@link describeService} shows beside the Service. */
export interface ServiceFacts {
  /** Undefined for a Service without a selector. */
  readonly endpoints: EndpointsObject | undefined;
  readonly events: readonly EventObject[] | undefined;
  readonly nowMs: number;
}

const UNSET = '<unset>';
/** kubectl shows so many. */
const MAX_SHOWN = 3;

/** What follows the metadata of a Service, as in kubectl. */
export function describeService(object: KubeObject, facts: ServiceFacts, writer: TabWriter): void {
  const { spec = {} } = object as ServiceObject;
  const { selector = {}, type = 'ClusterIP', clusterIP = '', externalName, ports = [] } = spec;
  writer.field(0, 'Selector', formatPodSelector({ matchLabels: selector }));
  writer.field(0, 'Type', type);
  if (externalName !== undefined) writer.field(0, 'External Name', externalName);
  else writer.field(0, 'IP', clusterIP);
  for (const { name = UNSET, port, protocol = 'TCP', targetPort, nodePort } of ports) {
    writer.field(0, 'Port', `${name}  ${port}/${protocol}`);
    writer.field(0, 'TargetPort', `${targetPort ?? port}/${protocol}`);
    if (nodePort !== undefined) writer.field(0, 'NodePort', `${name}  ${nodePort}/${protocol}`);
    const addresses =
      facts.endpoints === undefined ? [] : listEndpoints(facts.endpoints, name === UNSET ? '' : name);
    const rest = addresses.length - MAX_SHOWN;
    const shown = addresses.slice(0, MAX_SHOWN).join(',');
    writer.field(0, 'Endpoints', `${cell(shown)}${rest > 0 ? ` + ${rest} more...` : ''}`);
  }
  writer.field(0, 'Session Affinity', spec.sessionAffinity ?? 'None');
  if (facts.events !== undefined) describeEvents(facts.events, facts.nowMs, writer);
}
