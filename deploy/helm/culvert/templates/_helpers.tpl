{{/* Name of the release's objects, without their component: at most 40 characters, so that a component fits. */}}
{{- define "culvert.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* Full DNS name of a Service: nginx has no search path. Argument: list of the root and the component. */}}
{{- define "culvert.host" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s.%s.svc.%s" (include "culvert.fullname" $root) (index . 1) $root.Release.Namespace $root.Values.clusterDomain -}}
{{- end -}}

{{/* Labels that select the pods of a component. Argument: list of the root and the component. */}}
{{- define "culvert.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ $root.Chart.Name }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The same labels as JSON, for one line. */}}
{{- define "culvert.selectorMap" -}}
{{- include "culvert.selector" . | fromYaml | toJson -}}
{{- end -}}

{{/* Labels of an object. Argument: list of the root and the component. */}}
{{- define "culvert.labels" -}}
{{- $root := index . 0 -}}
{{ include "culvert.selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* Metadata of an object. Argument: list of the root, the component and optionally the suffix of the name, which is the component otherwise. */}}
{{- define "culvert.metadata" -}}
{{- $root := index . 0 -}}
{{- $suffix := last . -}}
name: {{ include "culvert.fullname" $root }}{{ with $suffix }}-{{ . }}{{ end }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "culvert.labels" (list $root (index . 1)) | nindent 2 }}
{{- end -}}

{{/* Name of an image. Argument: list of the root and "tunnel" or "web". */}}
{{- define "culvert.image" -}}
{{- $root := index . 0 -}}
{{- $prefix := required "Set image.prefix to the prefix of your images' names, such as registry.example/culvert." $root.Values.image.prefix -}}
{{- printf "%s-%s:%s" $prefix (index . 1) ($root.Values.image.tag | default $root.Chart.AppVersion) -}}
{{- with index $root.Values.image.digest (index . 1) }}@{{ . }}{{ end -}}
{{- end -}}

{{/* Name of the Secret of the settings, and below of that of NATS. */}}
{{- define "culvert.secretName" -}}
{{- .Values.existingSecret | default (include "culvert.fullname" .) -}}
{{- end -}}

{{- define "culvert.natsSecretName" -}}
{{- .Values.nats.existingSecret | default (printf "%s-nats" (include "culvert.fullname" .)) -}}
{{- end -}}

{{/* Name of the PriorityClass: it belongs to no namespace. */}}
{{- define "culvert.priorityClass" -}}
{{- printf "%s-%s" .Release.Namespace (include "culvert.fullname" .) -}}
{{- end -}}

{{/* Fields that all pods have. Argument: list of the root, the component, the user and the priority: "urgent" or "normal". */}}
{{- define "culvert.pod" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $user := index . 2 -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- if eq (index . 3) "urgent" }}
{{- with ternary (include "culvert.priorityClass" $root) $root.Values.priorityClass.name $root.Values.priorityClass.create }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ $user }}
  runAsGroup: {{ $user }}
  fsGroup: {{ $user }}
  seccompProfile: { type: RuntimeDefault }
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: {{ ternary "DoNotSchedule" "ScheduleAnyway" (eq $component "nats") }}
    labelSelector:
      matchLabels:
        {{- include "culvert.selector" (list $root $component) | nindent 8 }}
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "culvert.selector" (list $root $component) | nindent 8 }}
{{- end -}}

{{- define "culvert.containerSecurity" -}}
securityContext: { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
{{- end -}}

{{/* Data of the ConfigMap of the settings, and below of that of the files that they name. */}}
{{- define "culvert.settings" -}}
{{- with .Values.settings.EDGE | default (ternary "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 fc00::/7" "" .Values.nginx.enabled) }}
EDGE: {{ . | quote }}
{{- end }}
{{- range $name, $value := omit .Values.settings "EDGE" }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- with .Values.app.url }}
APP_URL: {{ . | quote }}
{{- end }}
{{- end -}}

{{- define "culvert.files" -}}
{{- with .Values.caFile }}
ca.pem: {{ . | quote }}
{{- end }}
{{- with .Values.scrubRules }}
scrub-rules.json: {{ . | quote }}
{{- end }}
{{- end -}}

{{/* Annotations that replace the pods when settings or DSNs change. They contain no hash of a password: it could be guessed offline. */}}
{{- define "culvert.checksums" -}}
checksum/settings: {{ print (include "culvert.settings" .) (include "culvert.files" .) | sha256sum }}
checksum/dsn: {{ print .Values.secrets.SENTRY_DSN .Values.secrets.MIRROR_DSN | sha256sum }}
{{- end -}}

{{/* Environment of the tunnel and web that comes from the Secret. */}}
{{- define "culvert.secretEnv" -}}
{{- $name := include "culvert.secretName" . -}}
- name: SENTRY_DSN
  valueFrom: { secretKeyRef: { name: {{ $name }}, key: SENTRY_DSN } }
- name: OPERATOR_PASSWORD
  valueFrom: { secretKeyRef: { name: {{ $name }}, key: OPERATOR_PASSWORD, optional: true } }
- name: ADMIN_TOKEN
  valueFrom: { secretKeyRef: { name: {{ $name }}, key: ADMIN_TOKEN, optional: true } }
{{- end -}}

{{/* Mount and volume of the files that settings name. */}}
{{- define "culvert.filesMount" -}}
{{- if or .Values.caFile .Values.scrubRules }}
- { name: files, mountPath: /etc/culvert, readOnly: true }
{{- end }}
{{- end -}}
{{- define "culvert.filesVolume" -}}
{{- if or .Values.caFile .Values.scrubRules }}
- name: files
  configMap: { name: {{ include "culvert.fullname" . }}-files }
{{- end }}
{{- end -}}

{{/* Peers that may reach the ports for visitors, in a NetworkPolicy. Empty: all. */}}
{{- define "culvert.ingressFrom" -}}
{{- with .Values.networkPolicy.ingressFrom -}}
from: {{ toJson . }}
{{- end }}
{{- end -}}

{{/* Ingress rule of a path. Argument: list of the root, the path and the suffix of the Service's name. */}}
{{- define "culvert.ingressPath" -}}
- path: {{ index . 1 }}
  pathType: Prefix
  backend: { service: { name: {{ include "culvert.fullname" (index . 0) }}{{ index . 2 }}, port: { name: http } } }
{{- end -}}
