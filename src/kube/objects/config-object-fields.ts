/**
 * Every field of v1 ConfigMap and v1 Secret, as data: see pod-fields.ts.
 *
 * @module
 */
import { DEFAULT_NAMESPACE } from './default-namespace.js';
import { type FieldTable, ignored, refused, supported } from '../fields/field-facts.js';

const API_SERVER = 'an API server writes it';

const META: FieldTable = {
  name: supported('string', { required: true }),
  generateName: refused(
    'use name: a manifest is read again and again, and is the same object each time',
    'string',
  ),
  namespace: supported('string', { default: DEFAULT_NAMESPACE }),
  selfLink: ignored('string', API_SERVER),
  uid: ignored('string', API_SERVER),
  resourceVersion: ignored('string', API_SERVER),
  generation: ignored('int64', API_SERVER),
  creationTimestamp: ignored('string', API_SERVER),
  deletionTimestamp: refused('remove the object from the manifest to delete it', 'string'),
  deletionGracePeriodSeconds: refused('remove the object from the manifest to delete it', 'int64'),
  labels: supported('map[string]string'),
  // kubectl stores the whole applied object in one of them.
  annotations: supported('map[string]string', { isSecret: true }),
  ownerReferences: ignored('any', 'the objects that own it are of an API server'),
  finalizers: refused('nobody here would take them off', '[]string'),
  managedFields: ignored('any', API_SERVER),
};

/** The tables of both, by type name. */
export const CONFIG_OBJECT_TABLES: Readonly<Record<string, FieldTable>> = {
  ConfigMap: {
    apiVersion: supported('string', { required: true, only: ['v1'], otherwise: 'use v1' }),
    kind: supported('string', { required: true, only: ['ConfigMap'], otherwise: 'use ConfigMap' }),
    metadata: supported('ConfigObjectMeta', { required: true }),
    immutable: supported('boolean'),
    data: supported('map[string]string'),
    // In base64.
    binaryData: supported('map[string]string'),
  },
  Secret: {
    apiVersion: supported('string', { required: true, only: ['v1'], otherwise: 'use v1' }),
    kind: supported('string', { required: true, only: ['Secret'], otherwise: 'use Secret' }),
    metadata: supported('ConfigObjectMeta', { required: true }),
    immutable: supported('boolean'),
    type: supported('string', { default: 'Opaque' }),
    // In base64.
    data: supported('map[string]string', { isSecret: true }),
    stringData: supported('map[string]string', { isSecret: true }),
  },
  ConfigObjectMeta: META,
};
