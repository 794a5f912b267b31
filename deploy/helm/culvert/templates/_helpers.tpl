{{- define "culvert.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Name of the release's objects, without their component: at most 40 characters, so that a component fits. */}}
{{- define "culvert.fullname" -}}
{{- $name := include "culvert.name" . -}}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- .Values.fullnameOverride | default $full | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* Full DNS name of a Service: nginx has no search path. Argument: list of the root and the component. */}}
{{- define "culvert.host" -}}
{{- $root := index . 0 -}}
{{- printf "%s-%s.%s.svc.%s" (include "culvert.fullname" $root) (index . 1) $root.Release.Namespace $root.Values.clusterDomain -}}
{{- end -}}

{{/* Labels that select the pods of a component, as JSON. Argument: list of the root and the component. */}}
{{- define "culvert.selector" -}}
{{- $root := index . 0 -}}
{{- dict "app.kubernetes.io/name" (include "culvert.name" $root) "app.kubernetes.io/instance" $root.Release.Name "app.kubernetes.io/component" (index . 1) | toJson -}}
{{- end -}}

{{/*
Metadata of an object. Argument: list of the root, the component and optionally the suffix of the name, which is the component otherwise, and more labels.
No label replaces one of the chart: selectors and Helm need those.
*/}}
{{- define "culvert.metadata" -}}
{{- $root := index . 0 -}}
{{- $chart := printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" -}}
{{- $labels := dict "app.kubernetes.io/version" $root.Chart.AppVersion "app.kubernetes.io/managed-by" $root.Release.Service "helm.sh/chart" $chart -}}
{{- $more := slice . (min 3 (len .)) | first | default dict -}}
name: {{ include "culvert.fullname" $root }}{{ with slice . 0 (min 3 (len .)) | last }}-{{ . }}{{ end }}
namespace: {{ $root.Release.Namespace }}
labels: {{ merge $labels (include "culvert.selector" . | fromJson) $more $root.Values.commonLabels | toJson }}
{{- end -}}

{{/* Image of a component with registry, tag and digest. Argument: list of the root and the component. */}}
{{- define "culvert.image" -}}
{{- $values := (index . 0).Values -}}
{{- $component := index . 1 -}}
{{- $image := index $values $component "image" -}}
{{- if not $image -}}
{{- $prefix := required "Set image.prefix to the prefix of your images' names, such as registry.example/culvert." $values.image.prefix -}}
{{- $image = printf "%s-%s:%s" $prefix $component ($values.image.tag | default (index . 0).Chart.AppVersion) -}}
{{- with index $values.image.digest $component }}{{ $image = printf "%s@%s" $image . }}{{ end -}}
{{- end -}}
{{- with $values.global.image.registry -}}
{{- $image = printf "%s/%s" . (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $image "") -}}
{{- end -}}
{{- $image -}}
{{- end -}}

{{- define "culvert.secretName" -}}
{{- .Values.existingSecret | default (include "culvert.fullname" .) -}}
{{- end -}}

{{/* Name of the PriorityClass, which belongs to no namespace. A namespace has no dot, so that no two releases have the same name. */}}
{{- define "culvert.priorityClass" -}}
{{- printf "%s.%s" .Release.Namespace (include "culvert.fullname" .) -}}
{{- end -}}

{{- define "culvert.natsSecretName" -}}
{{- .Values.nats.existingSecret | default (printf "%s-nats" (include "culvert.fullname" .)) -}}
{{- end -}}

{{- define "culvert.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "culvert.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Quantity, such as 10Gi or 500m, as a number. */}}
{{- define "culvert.quantity" -}}
{{- $units := dict "m" 1e-3 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 -}}
{{- $text := toString . -}}
{{- $number := regexFind "^[0-9.]+([eE][+-]?[0-9]+)?" $text -}}
{{- mulf (float64 $number) (get $units (trimPrefix $number $text) | default 1) -}}
{{- end -}}

{{/* Quantity of bytes in whole GiB. */}}
{{- define "culvert.gib" -}}
{{- divf (include "culvert.quantity" . | float64) 1073741824 | floor | int -}}
{{- end -}}

{{/* Paths that accept envelopes, as a JSON array. */}}
{{- define "culvert.tunnelPaths" -}}
{{- regexSplit "\\s*\\|[\\s|]*" (.Values.settings.TUNNEL_PATHS | default "" | trimAll "| " | default "/monitoring") -1 | toJson -}}
{{- end -}}

{{/* Volumes of the spool in the cluster, as JSON: an empty list at the first installation, and without access to a cluster. */}}
{{- define "culvert.claims" -}}
{{- $name := include "culvert.fullname" . -}}
{{- $names := ternary (list "data-%s-nats-0" "data-%s-nats-1" "data-%s-nats-2") (list "%s-spool") (eq .Values.size "standard") -}}
{{- $claims := list -}}
{{- range $names -}}
{{- $claims = append $claims (lookup "v1" "PersistentVolumeClaim" $.Release.Namespace (printf . $name)) -}}
{{- end -}}
{{- dict "claims" (compact $claims) | toJson -}}
{{- end -}}

{{/* Limit of the files of a NATS server: one GiB less than the smallest volume has, whatever was asked for. */}}
{{- define "culvert.maxFileStore" -}}
{{- $gib := int .Values.spool.storageGiB -}}
{{- range (include "culvert.claims" . | fromJson).claims -}}
{{- with dig "status" "capacity" "storage" "" . -}}
{{- $gib = min $gib (include "culvert.gib" . | int) -}}
{{- end -}}
{{- end -}}
{{- sub $gib 1 }}GB
{{- end -}}

{{/* Replicas, resources and options of a component by the value "size", as JSON. Argument: list of the root and the component. */}}
{{- define "culvert.sized" -}}
{{- $root := index . 0 -}}
{{- index ($root.Files.Get "files/sizes.yaml" | fromYaml) $root.Values.size (index . 1) | toJson -}}
{{- end -}}

{{/* "true" where NATS is the spool, and where a file on a volume is. Otherwise spool.url is. */}}
{{- define "culvert.hasNats" -}}
{{- if and .Values.nats.enabled (eq .Values.size "standard") }}true{{ end -}}
{{- end -}}
{{- define "culvert.hasFile" -}}
{{- if and (eq .Values.size "small") (not .Values.spool.url) }}true{{ end -}}
{{- end -}}
{{- define "culvert.isScaled" -}}
{{- if and .Values.tunnel.autoscaling.enabled (eq .Values.size "standard") }}true{{ end -}}
{{- end -}}

{{/*
Fields of a pod or container, each from the value of a component, or of all pods where the component has none. Maps are merged; a null in resources removes an amount.
Argument: list of the root, the component and the keys of the values by field.
*/}}
{{- define "culvert.fields" -}}
{{- $values := (index . 0).Values -}}
{{- $own := get $values (index . 1) -}}
{{- $all := merge (pick (include "culvert.sized" . | fromJson) "resources") $values -}}
{{- range $field, $key := index . 2 }}
{{- $value := ternary (get $own $key) (get $all $key) (hasKey $own $key) }}
{{- if kindIs "map" (get $all $key) }}
{{- $value = mergeOverwrite (deepCopy (get $all $key)) (get $own $key | default dict) }}
{{- end }}
{{- if eq $key "resources" }}
{{- range $kind, $amounts := $own.resources }}
{{- range $name, $amount := $amounts }}
{{- if kindIs "invalid" $amount }}{{ $_ := unset (get $value $kind) $name }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- with $value }}
{{ $field }}: {{ toJson . }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Selector and template of a workload up to its containers. Argument: list of the root, the component and optionally annotations. */}}
{{- define "culvert.podTemplate" -}}
{{- $root := index . 0 -}}
{{- $component := index . 1 -}}
{{- $selector := include "culvert.selector" . -}}
{{- $metadata := include "culvert.fields" (list $root $component (dict "labels" "podLabels" "annotations" "podAnnotations")) | fromYaml -}}
selector:
  matchLabels: {{ $selector }}
template:
  metadata:
    labels: {{ merge (fromJson $selector) ($metadata.labels | default dict) $root.Values.commonLabels | toJson }}
    annotations: {{ merge (deepCopy (index . 2)) ($metadata.annotations | default dict) | toJson }}
  spec:
    automountServiceAccountToken: false
    enableServiceLinks: false
    serviceAccountName: {{ include "culvert.serviceAccountName" $root }}
    {{- $keys := dict "securityContext" "podSecurityContext" }}
    {{- range list "affinity" "imagePullSecrets" "nodeSelector" "priorityClassName" "terminationGracePeriodSeconds" "tolerations" "topologySpreadConstraints" }}
    {{- $_ := set $keys . . }}
    {{- end }}
    {{- $fields := include "culvert.fields" (list $root $component $keys) | fromYaml }}
    {{- if and (eq $component "tunnel") (include "culvert.hasFile" $root) }}
    {{- /* A volume can be used on one node: the next pod starts beside the one that it replaces. */}}
    {{- $beside := dict "topologyKey" "kubernetes.io/hostname" "labelSelector" (dict "matchLabels" (fromJson $selector)) }}
    {{- $rules := append (dig "affinity" "podAffinity" "requiredDuringSchedulingIgnoredDuringExecution" list $fields) $beside }}
    {{- $affinity := dict "podAffinity" (dict "requiredDuringSchedulingIgnoredDuringExecution" $rules) }}
    {{- $_ := set $fields "affinity" (mergeOverwrite ($fields.affinity | default dict) $affinity) }}
    {{- end }}
    {{- range $field, $value := $fields }}
    {{ $field }}: {{ toJson $value }}
    {{- end }}
    {{- if and $root.Values.priorityClass.create (ne $component "web") (not $fields.priorityClassName) }}
    priorityClassName: {{ include "culvert.priorityClass" $root }}
    {{- end }}
    {{- if not $fields.topologySpreadConstraints }}
    topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: kubernetes.io/hostname
        {{- if eq $component "nats" }}
        minDomains: 3 # as many as servers: on fewer nodes, one waits instead of sharing a node
        {{- end }}
        whenUnsatisfiable: {{ ternary "DoNotSchedule" "ScheduleAnyway" (eq $component "nats") }}
        labelSelector: { matchLabels: {{ $selector }} }
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: ScheduleAnyway
        labelSelector: { matchLabels: {{ $selector }} }
    {{- end }}
{{- end -}}

{{/* Image of a container and its pull policy. Argument: list of the root and the component. */}}
{{- define "culvert.imageFields" -}}
image: {{ include "culvert.image" . }}
{{- with (index . 0).Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
{{- end -}}

{{/* Fields of a container, except for its environment, ports and probes. A hook of the values takes the place of that of the chart: merged, it would have two actions. Argument: list of the root and the component. */}}
{{- define "culvert.container" -}}
{{- $commands := dict "nginx" (list "sleep" "15") "tunnel" (list "sleep" "35") "web" (list "sleep" "35") "nats" (list "nats-server" "--signal" "ldm=/run/nats/nats.pid") -}}
{{- $lifecycle := dict "preStop" (dict "exec" (dict "command" (get $commands (index . 1)))) -}}
{{- range $hook, $action := (index (index . 0).Values (index . 1)).lifecycle }}{{ $_ := set $lifecycle $hook $action }}{{ end -}}
{{- include "culvert.imageFields" . }}
lifecycle: {{ toJson $lifecycle }}
{{- $keys := dict "envFrom" "envFrom" "resources" "resources" "securityContext" "containerSecurityContext" }}
{{- include "culvert.fields" (append . $keys) }}
{{- end -}}

{{/* Values of extraEnv. Argument: list of the root and the component. */}}
{{- define "culvert.extraEnv" -}}
{{- (include "culvert.fields" (append . (dict "env" "extraEnv")) | fromYaml).env | default list | toYaml | replace "[]" "" -}}
{{- end -}}

{{/* Annotations of the pods that read settings. They contain no hash of a password: it could be guessed offline. */}}
{{- define "culvert.annotations" -}}
{{- $all := dict "checksum/dsn" (print .Values.secrets.SENTRY_DSN .Values.secrets.MIRROR_DSN | sha256sum) -}}
{{- with .Values.caFile }}{{ $_ := set $all "culvert/ca.pem" . }}{{ end -}}
{{- with .Values.scrubRules }}{{ $_ := set $all "culvert/scrub-rules.json" . }}{{ end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Environment from the value "settings". It is part of the pod, so that the pods of another revision keep their own settings. */}}
{{- define "culvert.settingsEnv" -}}
{{- $own := dict "APP_URL" .Values.app.url -}}
{{- with .Values.settings.ALLOWED_HOSTS }}{{/* reports of servers and helm test come by names of the cluster */}}
{{- $_ := set $own "ALLOWED_HOSTS" (printf "%s *.svc.%s" . $.Values.clusterDomain) -}}
{{- end }}
{{- range $name, $value := merge $own (omit .Values.settings "EDGE") }}
{{- with $value }}
- { name: {{ $name }}, value: {{ . | replace "$" "$$" | quote }} }
{{- end }}
{{- end }}
- name: SENTRY_DSN
  valueFrom: { secretKeyRef: { name: {{ include "culvert.secretName" . }}, key: SENTRY_DSN } }
{{- end -}}

{{/* Environment of the tunnel and web. Argument: list of the root and the component. */}}
{{- define "culvert.env" -}}
{{- $root := index . 0 -}}
{{- with include "culvert.extraEnv" . }}
{{- . }}
{{ end }}
{{- include "culvert.settingsEnv" $root | trim }}
{{- range list "OPERATOR_PASSWORD" "ADMIN_TOKEN" }}
- name: {{ . }}
  valueFrom: { secretKeyRef: { name: {{ include "culvert.secretName" $root }}, key: {{ . }}, optional: true } }
{{- end }}
{{- with index $root.Values (index . 1) "nodeOptions" | default (include "culvert.sized" . | fromJson).nodeOptions }}
- { name: NODE_OPTIONS, value: {{ . | quote }} }
{{- end }}
{{- if $root.Values.caFile }}
- { name: CA_FILE, value: /etc/culvert/ca.pem }
{{- end }}
{{- end -}}

{{/* Volume of the files that settings name, from the annotations of the pod, and its mount. */}}
{{- define "culvert.filesVolume" -}}
{{- if or .Values.caFile .Values.scrubRules }}
- name: files
  downwardAPI:
    items:
      {{- range $file := list "ca.pem" "scrub-rules.json" }}
      {{- if hasKey (include "culvert.annotations" $ | fromJson) (print "culvert/" $file) }}
      - { path: {{ $file }}, fieldRef: { fieldPath: "metadata.annotations['culvert/{{ $file }}']" } }
      {{- end }}
      {{- end }}
{{- end }}
{{- end -}}
{{- define "culvert.filesMount" -}}
{{- if or .Values.caFile .Values.scrubRules }}
- { name: files, mountPath: /etc/culvert, readOnly: true }
{{- end }}
{{- end -}}

{{/* Service that has the addresses of all pods, up to its ports. Argument: as of metadata. */}}
{{- define "culvert.headless" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "culvert.metadata" . | nindent 2 }}
spec:
  clusterIP: None
  selector: {{ include "culvert.selector" . }}
  ports:
{{- end -}}

{{/* NetworkPolicy of a component, up to its rules, and below the peers that the pods of one are. Argument: list of the root and the component. */}}
{{- define "culvert.networkPolicy" -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  {{- include "culvert.metadata" . | nindent 2 }}
spec:
  podSelector: { matchLabels: {{ include "culvert.selector" . }} }
  policyTypes: [Ingress, Egress]
{{- end -}}
{{- define "culvert.peer" -}}
[{ podSelector: { matchLabels: {{ include "culvert.selector" . }} } }]
{{- end -}}

{{/* Component that visitors, or the proxy in front, reach. */}}
{{- define "culvert.entry" -}}
{{- ternary "nginx" "tunnel" .Values.nginx.enabled -}}
{{- end -}}

{{- define "culvert.serviceType" -}}
{{- $isInner := or .Values.ingress.enabled .Values.httpRoute.enabled (not .Values.nginx.enabled) (not .Values.nginx.tlsSecret) -}}
{{- .Values.service.type | default (ternary "ClusterIP" "LoadBalancer" $isInner) -}}
{{- end -}}
