import { GrpcMessage } from '../../relay/index.js';
import { encodeBytesField, ifReadable, readFields, readString } from '#base/wire/protobuf-fields.js';
import { CONDITION_FIELDS, RUNTIME_STATUS_FIELDS, STATUS_ANSWER_FIELDS } from '../cri-fields.js';
import { type Injections } from './injections.js';
import { type Rule, type RuntimeConditionName } from '../chaos-rule.js';
import { type Subject } from '../subject.js';

/** The reasons that containerd and CRI-O give. */
const REASONS: Readonly<Record<RuntimeConditionName, string>> = {
  NetworkReady: 'NetworkPluginNotReady',
  RuntimeReady: 'RuntimeNotReady',
};

/** The answer to Status in which a condition does not hold, said and counted; as it was when there is no reading it. */
export function applyNotReady(
  injections: Pick<Injections, 'note'>,
  rule: Rule,
  subject: Subject,
  answer: readonly GrpcMessage[],
): readonly GrpcMessage[] {
  const { fault } = rule;
  const [message, ...others] = answer;
  if (fault.type !== 'not-ready' || message === undefined || !message.isReadable) return answer;
  const changed = ifReadable(() => withoutCondition(message.payload, fault.condition, fault.message));
  if (changed === undefined) return answer;
  injections.note(rule, subject, `${fault.condition} is false`);
  return [GrpcMessage.of(changed), ...others];
}

/** A StatusResponse whose condition of that name is false, whatever it was, or not there. */
function withoutCondition(answer: Buffer, condition: RuntimeConditionName, message: string): Buffer {
  return changeField(answer, STATUS_ANSWER_FIELDS.status, (status) => {
    const others = [...readFields(status)].filter(
      ({ number, bytes }) =>
        number !== RUNTIME_STATUS_FIELDS.conditions || readString(bytes, CONDITION_FIELDS.type) !== condition,
    );
    const said = Buffer.concat([
      encodeBytesField(CONDITION_FIELDS.type, Buffer.from(condition)),
      encodeBytesField(CONDITION_FIELDS.reason, Buffer.from(REASONS[condition])),
      encodeBytesField(CONDITION_FIELDS.message, Buffer.from(message)),
    ]);
    return Buffer.concat([
      ...others.map(({ whole }) => whole),
      encodeBytesField(RUNTIME_STATUS_FIELDS.conditions, said),
    ]);
  });
}

/** A message with another content in a field that is a message; the field is made where it was left out. */
function changeField(message: Buffer, number: number, change: (content: Buffer) => Buffer): Buffer {
  const fields = [...readFields(message)];
  const content = fields.find((field) => field.number === number)?.bytes ?? Buffer.alloc(0);
  const others = fields.filter((field) => field.number !== number).map(({ whole }) => whole);
  return Buffer.concat([encodeBytesField(number, change(content)), ...others]);
}
