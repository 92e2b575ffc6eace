import { PageHead } from '../components/page-head.tsx'

export const Connect = () => <PageHead title="Connect" />
