import { BURST } from './burst/burst-scenario.js';
import { FORWARD } from './forward/forward-scenario.js';
import { CLUSTER } from './cluster/cluster-scenario.js';
import { KUBELET_HUNG } from './kubelet/hung-scenario.js';
import { KUBELET_MASS } from './kubelet/mass-scenario.js';
import { KUBELET } from './kubelet/singles-scenario.js';
import { STARTUP } from './startup/startup-scenario.js';
import { JOINED } from './joined/joined-scenario.js';
import { IDLE } from './idle/idle-scenario.js';
import { CHURN } from './churn/churn-scenario.js';
import { MICRO } from './micro/micro-scenario.js';
import { LATENCY } from './latency/latency-scenario.js';
import { OBSERVE_CHURN } from './observe/observe-churn.js';
import { OBSERVE } from './observe/observe-scenario.js';
import { PULL } from './pull/pull-scenario.js';
import { RELAY } from './relay/relay-scenario.js';
import { RELIST } from './relist/relist-scenario.js';
import { WEB } from './web/web-scenario.js';
import { type Scenario } from './scenario.js';

/** All of them, in the order of the page. */
export const SCENARIOS: readonly Scenario[] = [
  RELIST,
  BURST,
  LATENCY,
  IDLE,
  JOINED,
  CHURN,
  STARTUP,
  MICRO,
  RELAY,
  FORWARD,
  PULL,
  WEB,
  KUBELET,
  KUBELET_MASS,
  KUBELET_HUNG,
  OBSERVE,
  OBSERVE_CHURN,
  CLUSTER,
];
