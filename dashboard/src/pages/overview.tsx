import { PageHead } from '../components/page-head.tsx'

export const Overview = () => <PageHead title="Overview" />
