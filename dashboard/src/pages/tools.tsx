import { PageHead } from '../components/page-head.tsx'

export const Tools = () => <PageHead title="Tools" />
