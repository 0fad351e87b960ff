import {
  type HttpGetAction,
  type Lifecycle,
  type LifecycleHandler,
  type Probe,
} from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { forbidden, invalid, required } from '../fields/field-problem.js';
import { checkPortName, checkPortNumber } from './name-rules.js';
import { inRange, type ProblemList } from './problem-list.js';

/** The role of a probe; Kubernetes has separate rules for each. */
export type ProbeName = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

const HANDLERS = ['exec', 'httpGet', 'tcpSocket', 'grpc', 'sleep'] as const;
const HEADER_NAME = /^[-A-Za-z0-9]+$/;

/** Validates a probe. */
export function validateProbe(
  probe: Draft<Probe>,
  name: ProbeName,
  path: FieldPath,
  list: ProblemList,
): void {
  validateHandler(probe, undefined, path, list);
  for (const field of [
    ...(['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds'] as const),
    ...(['successThreshold', 'failureThreshold'] as const),
  ]) {
    list.check([...path, field], probe[field], inRange(0));
  }
  const grace = probe.terminationGracePeriodSeconds;
  const gracePath = [...path, 'terminationGracePeriodSeconds'];
  list.check(gracePath, grace, inRange(1));
  if (name === 'readinessProbe') {
    if (grace !== undefined) list.add(invalid(gracePath, grace, 'must not be set for a readinessProbe'));
  } else if (probe.successThreshold !== undefined && probe.successThreshold > 1) {
    list.add(invalid([...path, 'successThreshold'], probe.successThreshold, `must be 1 for a ${name}`));
  }
}

/** Validates the hooks of a container. A sleep must fit into the grace period. */
export function validateLifecycle(
  lifecycle: Draft<Lifecycle>,
  gracePeriodSeconds: number,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const name of ['postStart', 'preStop'] as const) {
    const handler = lifecycle[name];
    if (handler !== undefined) validateHandler(handler, gracePeriodSeconds, [...path, name], list);
  }
  list.check([...path, 'stopSignal'], lifecycle.stopSignal, (signal) =>
    /^SIG[A-Z][A-Z0-9+-]+$/.test(signal) ? undefined : 'use the name of a signal, such as SIGTERM',
  );
}

function validateHandler(
  handler: Draft<Probe & LifecycleHandler>,
  gracePeriodSeconds: number | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  const [first, ...others] = HANDLERS.filter((name) => handler[name] !== undefined);
  if (first === undefined) {
    const words =
      gracePeriodSeconds === undefined ? 'httpGet, tcpSocket or grpc' : 'httpGet, tcpSocket or sleep';
    list.add(required(path, `must have one of exec, ${words}`));
  }
  for (const name of others) {
    list.add(forbidden([...path, name], `there is ${first!} already; only one may be set`));
  }
  const { httpGet, tcpSocket, grpc, sleep } = handler;
  if (httpGet !== undefined) validateHttpGet(httpGet, [...path, 'httpGet'], list);
  list.check([...path, 'tcpSocket', 'port'], tcpSocket?.port, checkPort);
  list.check([...path, 'grpc', 'port'], grpc?.port, checkPortNumber);
  if (sleep !== undefined && gracePeriodSeconds !== undefined) {
    list.check([...path, 'sleep', 'seconds'], sleep.seconds, (seconds) =>
      seconds >= 0 && seconds <= gracePeriodSeconds
        ? undefined
        : `must be from 0 to terminationGracePeriodSeconds (${gracePeriodSeconds})`,
    );
  }
}

function validateHttpGet(action: Draft<HttpGetAction>, path: FieldPath, list: ProblemList): void {
  list.check([...path, 'port'], action.port, checkPort);
  for (const [index, header] of entriesOf(action.httpHeaders)) {
    list.check([...path, 'httpHeaders', index, 'name'], header.name, (name) =>
      HEADER_NAME.test(name) ? undefined : 'use letters, digits and "-", as in X-Custom-Header',
    );
    list.check([...path, 'httpHeaders', index, 'value'], header.value, (value) =>
      /[\r\n\0]/.test(value) ? 'must be one line' : undefined,
    );
  }
}

function checkPort(port: number | string): string | undefined {
  return typeof port === 'number' ? checkPortNumber(port) : checkPortName(port);
}
