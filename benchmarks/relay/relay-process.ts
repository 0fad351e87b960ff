/**
 * A process that stands between client and runtime: a bare pipe, the relay of frames, or chaos.
 *
 * Started by {@link startRelayProcess} with the kind, the socket of the runtime and its own. Says `ready`, answers `cpu`
 * with the milliseconds of CPU time it has used, and ends when its parent does.
 *
 * @module
 */
import { FrameRelay } from '#proxy/relay';
import { ChaosProxy, parseRules } from '#proxy/chaos';
import { serveBarePipe } from './bare-pipe.js';
import { type RelayKind } from './start-relay-process.js';

/** Rules about other calls than those that are measured, and about all of one pod's. */
const RULES = `
rules:
  - name: of another method
    match: { methods: [StopContainer] }
    fault: { type: hang }
`;
const RULES_OF_PODS = `
rules:
  - name: of a pod that is not there
    match: { methods: [ContainerStatus, PodSandboxStatus], pods: [nowhere/nobody] }
    fault: { type: hang }
`;

const [kind, upstream, listen] = process.argv.slice(2) as [RelayKind, string, string];
const endpoints = { upstream: `unix://${upstream}`, listen: `unix://${listen}` };
switch (kind) {
  case 'pipe':
    await serveBarePipe(upstream, listen);
    break;
  case 'relay':
    await FrameRelay.start(endpoints);
    break;
  case 'chaos':
    await ChaosProxy.start({ ...endpoints, rules: parseRules(RULES, 'rules'), seed: 1 });
    break;
  case 'chaos by pod':
    await ChaosProxy.start({ ...endpoints, rules: parseRules(RULES_OF_PODS, 'rules'), seed: 1 });
    break;
}
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMs: (user + system) / 1000 });
});
process.on('disconnect', () => process.exit());
process.send?.('ready');
