import { PageHead } from '../components/page-head.tsx'

export const Resources = () => <PageHead title="Resources" />
