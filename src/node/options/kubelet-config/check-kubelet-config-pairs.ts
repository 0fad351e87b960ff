import { type FieldProblem, invalid } from '#kube/fields/field-problem.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type KubeletConfig } from './kubelet-config.js';

/** Checks what depends on two fields, by the kubelet’s own rules. Pure. */
export function checkKubeletConfigPairs(config: KubeletConfig): FieldProblem[] {
  const { imageGCHighThresholdPercent: high = 85, imageGCLowThresholdPercent: low = 80 } = config;
  const problems: FieldProblem[] = [];
  if (low >= high) {
    problems.push(
      invalid(['imageGCLowThresholdPercent'], low, `must be less than imageGCHighThresholdPercent, ${high}`),
    );
  }
  const { maxParallelImagePulls: pulls, serializeImagePulls: oneByOne } = config;
  if (pulls !== undefined && pulls > 1 && oneByOne === true) {
    problems.push(invalid(['maxParallelImagePulls'], pulls, 'must be 1 while serializeImagePulls is true'));
  }
  const { imagePullCredentialsVerificationPolicy: policy, preloadedImagesVerificationAllowlist: allowlist } =
    config;
  if (allowlist !== undefined && allowlist.length > 0 && policy !== 'NeverVerifyAllowlistedImages') {
    const rule = 'imagePullCredentialsVerificationPolicy has to be NeverVerifyAllowlistedImages';
    problems.push(invalid(['preloadedImagesVerificationAllowlist'], allowlist, rule));
  }
  const { evictionSoft = {}, evictionSoftGracePeriod: graces = {} } = config;
  for (const [signal, text] of Object.entries(evictionSoft)) {
    if (Object.hasOwn(graces, signal)) continue;
    const rule = `evictionSoftGracePeriod has to say how long it may hold, such as {${signal}: 1m30s}`;
    problems.push(invalid(['evictionSoft', { key: signal }], text, rule));
  }
  const { shutdownGracePeriodMs: all = 0, shutdownGracePeriodCriticalPodsMs: critical = 0 } = config;
  if (critical > all) {
    const rule = `must not be more than shutdownGracePeriod, ${formatGoDuration(all)}`;
    const written = formatGoDuration(critical);
    problems.push(invalid(['shutdownGracePeriodCriticalPods'], written, rule));
  }
  const { shutdownGracePeriodByPodPriority: periods = [] } = config;
  if (periods.length > 0 && all > 0) {
    const rule = 'does not go with shutdownGracePeriod: leave one of them out';
    problems.push(invalid(['shutdownGracePeriodByPodPriority'], periods, rule));
  }
  return problems;
}
