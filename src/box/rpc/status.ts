import {
  CgroupDriver,
  type RuntimeCondition,
  type RuntimeConfigRequest,
  type RuntimeConfigResponse,
  type StatusRequest,
  StatusResponse,
  type UpdateRuntimeConfigRequest,
  type UpdateRuntimeConfigResponse,
  type VersionRequest,
  type VersionResponse,
} from '#watch/messages';
import { type NetworkStatus } from '../network/network-choice.js';
import { type RpcContext } from './rpc-context.js';
import { EMBEDDED_RUNTIME_NAME } from '#base/channels/embedded-runtime-name.js';

/** CRI Status: ready since it answers; two more conditions say what isolation and what limits there are and what not. */
export function status(context: RpcContext, { verbose }: StatusRequest): StatusResponse {
  const { isolation } = context;
  const isolated = isolation.kind === 'namespaces';
  const network = describeNetwork(context);
  return StatusResponse.fromPartial({
    status: {
      conditions: [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', status: network.ready, reason: network.reason, message: network.message },
        {
          type: 'Isolation',
          status: isolated,
          reason: isolated ? 'Namespaces' : 'HostProcesses',
          message: isolation.notice,
        },
        describeLimits(context),
      ],
    },
    runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: isolated, userNamespaces: false } }],
    features: { supplementalGroupsPolicy: isolated },
    info: verbose ? { config: JSON.stringify(describe(context)) } : {},
  });
}

function describeLimits({ cgroups }: RpcContext): Partial<RuntimeCondition> {
  const { notice } = cgroups;
  const { version } = cgroups.describe();
  const reason = version === 'none' ? 'NoCgroups' : version === 'v2' ? 'CgroupV2' : 'CgroupV1';
  return { type: 'Limits', status: notice === undefined, reason, message: notice ?? '' };
}

function describeNetwork({ isolation, network }: RpcContext): NetworkStatus {
  const message = 'pods use the host’s network, as there is no isolation';
  if (isolation.kind === 'namespaces') return network.status();
  return { ready: true, mode: 'host', reason: 'NoIsolation', message };
}

function describe(context: RpcContext): object {
  const { cgroups, choices, hub, images, isolation, pods, rootDir, version } = context;
  const network = describeNetwork(context);
  return {
    version,
    pid: process.pid,
    startedWith: choices,
    rootDir,
    isolation: isolation.kind,
    isolationNotice: isolation.notice,
    network: network.mode,
    networkNotice: network.message,
    cgroups: cgroups.describe(),
    images: images.images.length,
    sandboxes: pods.sandboxes.length,
    containers: pods.containers.length,
    eventReaders: hub.readers,
    eventReadersDropped: hub.droppedReaders,
    eventReaderQueue: hub.readerCapacity,
  };
}

/** Version of the kubelet's runtime API; has been 0.1.0 for as long as there is CRI. */
const KUBELET_API_VERSION = '0.1.0';

/** CRI Version: who this is. */
export function version({ version }: RpcContext, _request: VersionRequest): VersionResponse {
  return {
    version: KUBELET_API_VERSION,
    runtimeName: EMBEDDED_RUNTIME_NAME,
    runtimeVersion: version,
    runtimeApiVersion: 'v1',
  };
}

/** CRI RuntimeConfig: which driver an agent should use. Groups are made here without asking systemd. */
export function runtimeConfig(_context: RpcContext, _request: RuntimeConfigRequest): RuntimeConfigResponse {
  return { linux: { cgroupDriver: CgroupDriver.CGROUPFS } };
}

/** CRI UpdateRuntimeConfig: taken and without effect, since pods have the host's addresses and need no range. */
export function updateRuntimeConfig(
  _context: RpcContext,
  _request: UpdateRuntimeConfigRequest,
): UpdateRuntimeConfigResponse {
  return {};
}
