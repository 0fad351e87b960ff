import { formatPod } from '#kube/pod/pod-ref.js';
import { valueOf } from '../looked.js';
import { type Rule } from './rule.js';
import { count, formatMs, nameSome } from './words.js';

/** What reading the runtime's events showed. */
export const eventRules: Rule = ({ runtime }) => {
  const events = valueOf(runtime.events);
  if (events?.isSupported !== true) return [];
  const { missed, missedCount, changed, received, watchedMs, ended } = events;
  if (ended !== undefined) {
    return [
      {
        ...{ code: 'EventStreamBreaks', severity: 'warning', call: 'GetContainerEvents' },
        message: 'the runtime’s event stream breaks while it is read',
        evidence: [`after ${formatMs(watchedMs)} and ${count(received, 'event')}: ${ended}`],
        remedy:
          'See that events are on (CRI-O: enable_pod_events = true). A kubelet with EventedPLEG gives up after five breaks; podloop goes on relisting every second meanwhile.',
      },
    ];
  }
  const [first] = missed;
  if (first === undefined) return [];
  return [
    {
      ...{ code: 'EventsLost', severity: 'warning', call: 'GetContainerEvents', pod: first.pod },
      message: `${missedCount} of ${count(changed, 'change')} of containers came without an event: whoever relies on the runtime’s events misses them`,
      evidence: [
        nameSome(
          missed.map(({ pod, container }) => `${formatPod(pod)} (${container})`),
          missedCount,
        ),
        `${count(received, 'event')} in ${formatMs(watchedMs)}`,
      ],
      remedy:
        'Keep the generic PLEG (no EventedPLEG) with this runtime, and see its log for discarded events; podloop relists by itself and loses nothing.',
    },
  ];
};
