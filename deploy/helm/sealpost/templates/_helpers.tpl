{{- define "sealpost.name" -}}
{{- if contains "sealpost" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-sealpost" (.Release.Name | trunc 31 | trimSuffix "-") }}{{ end }}
{{- end }}

{{- define "sealpost.account" -}}
{{- if .Values.serviceAccount.create }}{{ .Values.serviceAccount.name | default (include "sealpost.name" .) }}{{ else }}{{ .Values.serviceAccount.name | default "default" }}{{ end }}
{{- end }}

{{- define "sealpost.labels" -}}
app.kubernetes.io/name: sealpost
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- /* The labels that select the pods of a role. In: root, role. */}}
{{- define "sealpost.pods" -}}
{ app.kubernetes.io/name: sealpost, app.kubernetes.io/instance: {{ .root.Release.Name }}, app.kubernetes.io/component: {{ .role }} }
{{- end }}

{{- /* The role whose pods serve HTTP and SMTP: with the embedded engine the only pod. */}}
{{- define "sealpost.front" -}}
{{- if eq .Values.engine "embedded" }}all{{ else }}http{{ end }}
{{- end }}

{{- /* The settings that the chart makes from its values, and those of `settings`, as a map in YAML. */}}
{{- define "sealpost.settings" -}}
{{- $set := dict "HOST" "0.0.0.0" "PORT" "3000" "SEALPOST_DATA_DIR" "/data" }}
{{- if .Values.publicUrl }}
{{- $_ := set $set "SEALPOST_PUBLIC_URL" .Values.publicUrl }}
{{- $_ := set $set "SEALPOST_TRUST_PROXY" .Values.trustProxy }}
{{- else }}
{{- $_ := set $set "SEALPOST_PUBLIC_URL" "http://127.0.0.1:3000" }}
{{- $_ := set $set "SEALPOST_REQUIRE_HTTPS" "false" }}
{{- end }}
{{- with .Values.mail.relayUrl }}{{ $_ := set $set "SEALPOST_SMTP_URL" . }}{{ end }}
{{- with .Values.mail.accountSender }}{{ $_ := set $set "SEALPOST_ACCOUNT_SENDER" . }}{{ end }}
{{- if .Values.metrics.enabled }}
{{- $_ := set $set "SEALPOST_METRICS_PORT" (.Values.metrics.port | toString) }}
{{- $_ := set $set "SEALPOST_METRICS_HOST" "0.0.0.0" }}
{{- end }}
{{- if eq .Values.engine "distributed" }}
{{- range $value, $setting := include "sealpost.servers" . | fromYaml }}
{{- with index $.Values.distributed $value }}{{ $_ := set $set $setting . }}{{ end }}
{{- end }}
{{- end }}
{{- if .Values.inbound.enabled }}{{ $_ := set $set "SEALPOST_RETURN_PATH_DOMAIN" .Values.inbound.domain }}{{ end }}
{{- $front := include "sealpost.frontSettings" . | fromYaml }}
{{- range $name, $value := .Values.settings }}
{{- if or (hasKey $set $name) (hasKey $front $name) (eq $name "SEALPOST_ROLES") }}{{ fail (printf "settings.%s: the chart sets %s from its other values; leave it out here." $name $name) }}{{ end }}
{{- $_ := set $set $name (include "sealpost.plain" $value) }}
{{- end }}
{{- toYaml $set }}
{{- end }}

{{- /* The settings of the SMTP servers, for the pods that have their certificates. */}}
{{- define "sealpost.frontSettings" -}}
{{- $set := dict }}
{{- if .Values.submission.enabled }}
{{- $_ := set $set "SEALPOST_SUBMISSION_PORT" "2587" }}
{{- if .Values.submission.tlsPort }}{{ $_ := set $set "SEALPOST_SUBMISSION_TLS_PORT" "2465" }}{{ end }}
{{- $_ := set $set "SEALPOST_SUBMISSION_TLS_CERT" "/certificates/submission/tls.crt" }}
{{- $_ := set $set "SEALPOST_SUBMISSION_TLS_KEY" "/certificates/submission/tls.key" }}
{{- end }}
{{- if .Values.inbound.enabled }}
{{- $_ := set $set "SEALPOST_INBOUND_SMTP_PORT" "2525" }}
{{- with .Values.inbound.name }}{{ $_ := set $set "SEALPOST_INBOUND_SMTP_NAME" . }}{{ end }}
{{- if .Values.inbound.certificateSecret }}
{{- $_ := set $set "SEALPOST_INBOUND_SMTP_TLS_CERT" "/certificates/inbound/tls.crt" }}
{{- $_ := set $set "SEALPOST_INBOUND_SMTP_TLS_KEY" "/certificates/inbound/tls.key" }}
{{- end }}
{{- end }}
{{- toYaml $set }}
{{- end }}

{{- /* A value as text: Helm reads numbers as floats, and writes large ones with an exponent. */}}
{{- define "sealpost.plain" -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end }}
{{- end }}

{{- define "sealpost.servers" -}}
eventStoreUrl: SEALPOST_EVENT_STORE_URL
readModelsUrl: SEALPOST_READ_MODELS_URL
keysUrl: SEALPOST_KEYS_URL
filesUrl: SEALPOST_FILES_URL
leasesUrl: SEALPOST_LEASES_URL
busUrl: SEALPOST_BUS_URL
limiterUrl: SEALPOST_LIMITER_URL
{{- end }}

{{- /* Values that contradict each other, each with a sentence that says what would be right. */}}
{{- define "sealpost.check" -}}
{{- $v := .Values }}
{{- if and $v.publicUrl (not $v.trustProxy) }}{{ fail "trustProxy is empty: with publicUrl the service refuses plain HTTP, and only proxies of trustProxy can say that a call came by HTTPS. Set it to the addresses or networks of your ingress controller, for example 10.0.0.0/8." }}{{ end }}
{{- if and $v.trustProxy (not $v.publicUrl) }}{{ fail "publicUrl is empty: with trustProxy, set it to the https address of the proxy, for example https://mail.example.com." }}{{ end }}
{{- if and $v.ingress.enabled (urlParse $v.publicUrl).path (ne (urlParse $v.publicUrl).path "/") }}{{ fail (printf "publicUrl has the path %s, which an ingress does not take off calls: use a proxy of yours, or an address without a path." (urlParse $v.publicUrl).path) }}{{ end }}
{{- if and $v.ingress.enabled (not $v.publicUrl) }}{{ fail "publicUrl is empty: an ingress takes its host from publicUrl, for example https://mail.example.com." }}{{ end }}
{{- if and (not $v.mail.relayUrl) (not $v.existingSecret) }}{{ fail "mail.relayUrl is empty: set it to your relay, or put SEALPOST_SMTP_URL into a secret and its name into existingSecret." }}{{ end }}
{{- if and (ne $v.mail.relayUrl "mailbox:") (not $v.mail.accountSender) }}{{ fail "mail.accountSender is empty: with a relay, set it to an address of yours, for example Example <accounts@example.com>." }}{{ end }}
{{- if eq $v.engine "distributed" }}
{{- if eq $v.mail.relayUrl "mailbox:" }}{{ fail "mail.relayUrl is mailbox:, which pods of the distributed engine do not share: set it to your relay, or leave it empty with SEALPOST_SMTP_URL in existingSecret." }}{{ end }}
{{- if not $v.existingSecret }}{{ fail "existingSecret is empty: the pods of the distributed engine share the master key, SEALPOST_MASTER_KEY in that secret." }}{{ end }}
{{- if not $v.metrics.enabled }}{{ fail "metrics.enabled is false: the liveness probes of the roles process and project ask for the figures." }}{{ end }}
{{- end }}
{{- range $path, $url := dict "mail.relayUrl" $v.mail.relayUrl "distributed.eventStoreUrl" $v.distributed.eventStoreUrl "distributed.readModelsUrl" $v.distributed.readModelsUrl "distributed.keysUrl" $v.distributed.keysUrl "distributed.filesUrl" $v.distributed.filesUrl "distributed.leasesUrl" $v.distributed.leasesUrl "distributed.busUrl" $v.distributed.busUrl "distributed.limiterUrl" $v.distributed.limiterUrl }}
{{- if regexMatch "^[a-z0-9+]+://[^/]*@" $url }}{{ fail (printf "%s holds a login, and values are stored in plain text: put the URL into existingSecret, and leave %s empty." $path $path) }}{{ end }}
{{- end }}
{{- if and $v.submission.enabled (not $v.submission.certificateSecret) }}{{ fail "submission.certificateSecret is empty: programs send their keys, so SMTP needs a certificate. Set it to a secret of type kubernetes.io/tls." }}{{ end }}
{{- if and $v.inbound.enabled (not $v.inbound.domain) }}{{ fail "inbound.domain is empty: set it to the domain whose mail comes back to this service, for example bounces.example.com." }}{{ end }}
{{- end }}

{{- /* The template of a pod. In: root, role (all, http, process, project), resources, data (a volume, or undefined for a claim). */}}
{{- define "sealpost.pod" -}}
{{- $root := .root }}
{{- $v := $root.Values }}
{{- $isFront := eq .role (include "sealpost.front" $root) -}}
metadata:
  labels:
    {{- include "sealpost.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role }}
    {{- with $v.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations:
    # A change of the settings replaces the pods.
    sealpost/settings: {{ include "sealpost.settings" $root | sha256sum }}
    {{- if $v.metrics.enabled }}
    prometheus.io/scrape: 'true'
    prometheus.io/port: {{ $v.metrics.port | quote }}
    {{- end }}
    {{- with $v.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "sealpost.account" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: 45
  {{- with $v.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with $v.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  containers:
    - name: sealpost
      image: {{ printf "%s:%s" $v.image.repository ($v.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      {{- $env := dict }}
      {{- if $isFront }}{{ $env = include "sealpost.frontSettings" $root | fromYaml }}{{ end }}
      {{- if ne .role "all" }}{{ $_ := set $env "SEALPOST_ROLES" .role }}{{ end }}
      {{- if $env }}
      env:
        {{- range $name, $value := $env }}
        - { name: {{ $name }}, value: {{ $value | quote }} }
        {{- end }}
      {{- end }}
      envFrom:
        - configMapRef: { name: {{ include "sealpost.name" $root }} }
        {{- with $v.existingSecret }}
        - secretRef: { name: {{ . }} }
        {{- end }}
      ports:
        {{- if $isFront }}
        - { name: http, containerPort: 3000 }
        {{- if $v.submission.enabled }}
        - { name: submission, containerPort: 2587 }
        {{- if $v.submission.tlsPort }}
        - { name: submissions, containerPort: 2465 }
        {{- end }}
        {{- end }}
        {{- if $v.inbound.enabled }}
        - { name: smtp, containerPort: 2525 }
        {{- end }}
        {{- end }}
        {{- if $v.metrics.enabled }}
        - { name: metrics, containerPort: {{ $v.metrics.port }} }
        {{- end }}
      {{- if $isFront }}
      # The first start and an upgrade may take long: they read the log.
      startupProbe: { httpGet: { path: /health/live, port: http }, periodSeconds: 5, failureThreshold: 60 }
      readinessProbe: { httpGet: { path: /health/ready, port: http }, periodSeconds: 5 }
      livenessProbe: { httpGet: { path: /health/live, port: http }, periodSeconds: 10, failureThreshold: 6 }
      {{- else }}
      startupProbe: { httpGet: { path: /metrics, port: metrics }, periodSeconds: 5, failureThreshold: 60 }
      livenessProbe: { httpGet: { path: /metrics, port: metrics }, periodSeconds: 10, failureThreshold: 6 }
      {{- end }}
      resources: {{ toJson .resources }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      volumeMounts:
        - { name: data, mountPath: /data }
        - { name: tmp, mountPath: /tmp }
        {{- if and $isFront $v.submission.enabled }}
        - { name: submission-certificate, mountPath: /certificates/submission, readOnly: true }
        {{- end }}
        {{- if and $isFront $v.inbound.enabled $v.inbound.certificateSecret }}
        - { name: inbound-certificate, mountPath: /certificates/inbound, readOnly: true }
        {{- end }}
        {{- with $v.extraVolumeMounts }}{{ toYaml . | nindent 8 }}{{ end }}
  volumes:
    - { name: tmp, emptyDir: {} }
    {{- with .data }}
    - {{ mustMerge (dict "name" "data") . | toJson }}
    {{- end }}
    {{- if and $isFront $v.submission.enabled }}
    - { name: submission-certificate, secret: { secretName: {{ $v.submission.certificateSecret }}, defaultMode: 0440 } }
    {{- end }}
    {{- if and $isFront $v.inbound.enabled $v.inbound.certificateSecret }}
    - { name: inbound-certificate, secret: { secretName: {{ $v.inbound.certificateSecret }}, defaultMode: 0440 } }
    {{- end }}
    {{- with $v.extraVolumes }}{{ toYaml . | nindent 4 }}{{ end }}
  {{- with $v.nodeSelector }}
  nodeSelector: {{ toJson . }}
  {{- end }}
  {{- with $v.tolerations }}
  tolerations: {{ toJson . }}
  {{- end }}
  {{- if $v.affinity }}
  affinity: {{ toJson $v.affinity }}
  {{- else if ne .role "all" }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {{ include "sealpost.pods" (dict "root" $root "role" .role) }}
  {{- end }}
{{- end }}

{{- define "sealpost.claim" -}}
- metadata: { name: data }
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .storageClass }}
    storageClassName: {{ . }}
    {{- end }}
    resources: { requests: { storage: {{ .size }} } }
{{- end }}
