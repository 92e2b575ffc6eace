{{- define "towpath.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | replace "towpath-towpath" "towpath" | trunc 52 | trimSuffix "-" }}
{{- end }}

{{- define "towpath.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "towpath.labels" -}}
{{ include "towpath.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "towpath.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- .Values.serviceAccount.name | default (include "towpath.name" .) }}
{{- else }}
{{- .Values.serviceAccount.name | default "default" }}
{{- end }}
{{- end }}

{{/* Settings of every pod: no privileges, secrets as files, and only ephemeral volumes to write to. */}}
{{- define "towpath.pod" -}}
automountServiceAccountToken: false
serviceAccountName: {{ include "towpath.serviceAccount" . }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  {{- if .Values.stdio.enabled }}
  runAsUser: 0
  runAsGroup: 0
  {{- else }}
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  {{- end }}
  fsGroup: 1000
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  - name: secrets
    secret:
      secretName: {{ .Values.existingSecret }}
      defaultMode: 0440
  - name: data
    emptyDir: {}
  - name: home
    emptyDir: {}
  - name: tmp
    emptyDir: {}
  {{- if .Values.stdio.enabled }}
  - name: stdio-home
    emptyDir: {}
  {{- end }}
{{- end }}

{{- define "towpath.container" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
    {{- if .Values.stdio.enabled }}
    # to start and stop processes of another user
    add: [SETUID, SETGID, KILL, SETPCAP]
    {{- end }}
{{- if .Values.stdio.enabled }}
command:
  - setpriv
  - --reuid=1000
  - --regid=1000
  - --clear-groups
  - --inh-caps=+setuid,+setgid,+kill,+setpcap
  - --ambient-caps=+setuid,+setgid,+kill,+setpcap
  - node
  - --v8-pool-size=0
  - /app/dist/src/cli/main.js
{{- end }}
env:
  - name: SERVER_MODE
    value: enterprise
  - name: DATABASE_URL_FILE
    value: /run/secrets/towpath/database-url
  - name: TOWPATH_ENCRYPTION_KEY_FILE
    value: /run/secrets/towpath/encryption-key
  - name: TOWPATH_ADMIN_TOKEN_FILE
    value: /run/secrets/towpath/admin-token
  {{- with .Values.metricsTokenKey }}
  - name: TOWPATH_METRICS_TOKEN_FILE
    value: /run/secrets/towpath/{{ . }}
  {{- end }}
  {{- if .Values.stdio.enabled }}
  - name: TOWPATH_STDIO_UID
    value: {{ .Values.stdio.uid | quote }}
  - name: TOWPATH_STDIO_GID
    value: {{ .Values.stdio.uid | quote }}
  - name: HOME
    value: /home/stdio
  {{- else if not (hasKey .Values.settings "TOWPATH_STDIO") }}
  - name: TOWPATH_STDIO
    value: 'off'
  {{- end }}
  {{- $auth := get .Values.settings "TOWPATH_AUTH" | default "embedded" }}
  {{- if and .Values.console.enabled (hasPrefix "https://" .Values.publicUrl) (eq $auth "embedded") }}
  {{- if not (hasKey .Values.settings "TOWPATH_AUTH") }}
  - name: TOWPATH_AUTH
    value: embedded
  {{- end }}
  {{- if not (hasKey .Values.settings "TOWPATH_CONSOLE") }}
  - name: TOWPATH_CONSOLE
    value: 'on'
  {{- end }}
  {{- end }}
  {{- with .Values.publicUrl }}
  - name: TOWPATH_PUBLIC_URL
    value: {{ . | quote }}
  {{- end }}
  {{- if and .Values.ingress.enabled .Values.ingress.trustedProxies (not (hasKey .Values.settings "TOWPATH_TRUSTED_PROXIES")) }}
  - name: TOWPATH_TRUSTED_PROXIES
    value: {{ .Values.ingress.trustedProxies | quote }}
  {{- end }}
  {{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - name: secrets
    mountPath: /run/secrets/towpath
    readOnly: true
  - name: data
    mountPath: /data
  - name: home
    mountPath: /home/towpath
  - name: tmp
    mountPath: /tmp
  {{- if .Values.stdio.enabled }}
  - name: stdio-home
    mountPath: /home/stdio
  {{- end }}
{{- end }}
